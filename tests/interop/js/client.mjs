// The JavaScript SDK's client as a peer: the scenario of tests/interop/sdk_client.py, with the same keys.
// Arguments: the base URL of an agent, and the binding.
import { randomUUID } from 'node:crypto';
import {
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTasksRequest,
  SendMessageRequest,
  SubscribeToTaskRequest,
  TaskPushNotificationConfig,
  taskStateToJSON,
} from '@a2a-js/sdk';
import {
  AgentCardResolver,
  ClientFactory,
  JsonRpcTransportFactory,
  RestTransportFactory,
  ServiceParameters,
  withA2AExtensions,
} from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';

const EXTENSION = 'https://example.test/ext/v1';
const PATIENCE = 15_000;

// Standard output holds the one object; what the SDK says goes where errors go.
console.log = console.info = console.debug = console.error;

const [url, binding] = process.argv.slice(2);
const transports = {
  JSONRPC: JsonRpcTransportFactory,
  'HTTP+JSON': RestTransportFactory,
  GRPC: GrpcTransportFactory,
};

const options = () => ({ signal: AbortSignal.timeout(PATIENCE) });
const state = (holder) => taskStateToJSON(holder.status.state);
const words = (parts) => parts.map((part) => (part.content?.$case === 'text' ? part.content.value : '')).join('');

const request = (text, configuration = {}) =>
  SendMessageRequest.fromJSON({
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }] },
    configuration,
  });

const done = {};

async function take(name, step) {
  try {
    done[name] = { result: await step() };
  } catch (error) {
    done[name] = {
      error: {
        name: error.name,
        reason: error.reason ?? error.cause?.reason ?? null,
        code: error.envelopeCode ?? error.statusCode ?? error.status ?? error.cause?.envelopeCode ?? null,
        message: error.message,
      },
    };
  }
}

const card = await AgentCardResolver.default.resolve(url);
done.card = {
  result: {
    name: card.name,
    interfaces: card.supportedInterfaces.map((i) => [i.protocolBinding, i.url, i.tenant ?? '', i.protocolVersion]),
    extensions: (card.capabilities.extensions ?? []).map((extension) => extension.uri),
  },
};
const factory = new ClientFactory({ transports: [new transports[binding]()] });
const client = await factory.createFromAgentCard(card);

const send = (text, configuration) => client.sendMessage(request(text, configuration), options());
const say = async (text) => words((await send(`message: ${text}`)).parts);

async function run(text) {
  const task = await send(text);
  return { state: state(task), text: task.artifacts.map((artifact) => words(artifact.parts)).join('') };
}

async function collect(stream) {
  const seen = { events: [], text: '', state: '' };
  for await (const { payload } of stream) {
    seen.events.push(payload?.$case ?? 'null');
    if (payload?.$case === 'task' || payload?.$case === 'statusUpdate') {
      seen.state = state(payload.value);
    } else if (payload?.$case === 'message') {
      seen.text += words(payload.value.parts);
    } else if (payload?.$case === 'artifactUpdate') {
      seen.text += words(payload.value.artifact.parts);
    }
  }
  return seen;
}

const stream = (text) => () => collect(client.sendMessageStream(request(text), options()));

async function get(id) {
  const task = await client.getTask(GetTaskRequest.fromJSON({ id }), options());
  return { sameId: task.id === id, state: state(task) };
}

let taskId = '';
try {
  taskId = (await send('task: first')).id;
} catch {
  // The steps that need it tell.
}

const push = (config) => ({
  id: config.id,
  sameTask: config.taskId === taskId,
  url: config.url,
  token: config.token,
  scheme: config.authentication?.scheme ?? '',
});

async function listConfigs() {
  const asked = ListTaskPushNotificationConfigsRequest.fromJSON({ taskId });
  const page = await client.listTaskPushNotificationConfig(asked, options());
  return page.configs.map((config) => config.id);
}

await take('message', () => say('hello'));
await take('task', () => run('task: world'));
await take('stream', stream('task: streamed'));
await take('message_separator', () => say('a\u2028b'));
await take('stream_separator', stream('task: a\u2028b'));
await take('ask', () => run('ask'));
await take('get', () => get(taskId));
await take('list', async () => {
  const page = await client.listTasks(ListTasksRequest.fromJSON({ pageSize: 50 }), options());
  return { found: page.tasks.some((task) => task.id === taskId), pageSize: page.pageSize };
});
await take('cancel', async () => {
  const { id } = await send('slow', { returnImmediately: true });
  return state(await client.cancelTask(CancelTaskRequest.fromJSON({ id }), options()));
});
await take('subscribe', async () => {
  const { id } = await send('slow', { returnImmediately: true });
  return collect(client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id }), options()));
});
await take('push_create', async () => {
  const config = TaskPushNotificationConfig.fromJSON({
    taskId,
    id: 'hook',
    url: 'http://127.0.0.1:9/hook',
    token: 'secret',
    authentication: { scheme: 'Bearer', credentials: 'abc' },
  });
  return push(await client.createTaskPushNotificationConfig(config, options()));
});
await take('push_get', async () => {
  const asked = GetTaskPushNotificationConfigRequest.fromJSON({ taskId, id: 'hook' });
  return push(await client.getTaskPushNotificationConfig(asked, options()));
});
await take('push_list', listConfigs);
await take('push_delete', async () => {
  const asked = DeleteTaskPushNotificationConfigRequest.fromJSON({ taskId, id: 'hook' });
  await client.deleteTaskPushNotificationConfig(asked, options());
  return listConfigs();
});
await take('extended_card', async () => {
  // A client goes by the extended card once it has it, so this one is not used further.
  const other = await factory.createFromAgentCard(card);
  return (await other.getAgentCard(options())).skills.map((skill) => skill.id);
});
await take('headers', async () => {
  const serviceParameters = ServiceParameters.create(withA2AExtensions(EXTENSION));
  const answer = await client.sendMessage(request('headers'), { ...options(), serviceParameters });
  return JSON.parse(words(answer.parts));
});
await take('missing', () => get('no-such-task'));
await take('fail', () => run('fail'));
await take('fail_stream', stream('fail'));
await take('break_stream', stream('break'));

process.stdout.write(JSON.stringify(done), () => process.exit(0));
