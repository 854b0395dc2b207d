// The JavaScript SDK's server as a peer; tests/interop/peer.py says what its agent does.
// Options: --order JSONRPC,HTTP+JSON,GRPC --tenant T --slow SECONDS --key JWK
// With a key, the card below /signed is signed anew for each answer.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import {
  AgentCard,
  Message,
  Task,
  TaskArtifactUpdateEvent,
  TaskStatusUpdateEvent,
  generateAgentCardSignature,
} from '@a2a-js/sdk';
import { ContentTypeNotSupportedError, UnsupportedOperationError } from '@a2a-js/sdk/errors';
import {
  AgentEvent,
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from '@a2a-js/sdk/server';
import { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } from '@a2a-js/sdk/server/express';
import { A2AService, UserBuilder as GrpcUserBuilder, grpcService } from '@a2a-js/sdk/server/grpc';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import express from 'express';

const EXTENSION = 'https://example.test/ext/v1';

// Standard output holds the one line; what the SDK says goes where errors go.
console.log = console.info = console.debug = console.error;

const textOf = (message) => {
  const content = message?.parts?.[0]?.content;
  return content?.$case === 'text' ? content.value : '';
};

const status = (state) => ({ state, timestamp: new Date().toISOString() });

class Agent {
  #slow;
  #running = new Map();

  constructor(slow) {
    this.#slow = slow;
  }

  async execute(context, bus) {
    const { taskId, contextId, userMessage } = context;
    const [verb, ...rest] = textOf(userMessage).split(': ');
    const argument = rest.join(': ');
    if (verb === 'message' || verb === 'headers') {
      const text = verb === 'message' ? argument : JSON.stringify(seen(context.context));
      const answer = { messageId: randomUUID(), contextId, role: 'ROLE_AGENT', parts: [{ text }] };
      bus.publish(AgentEvent.message(Message.fromJSON(answer)));
      return;
    }
    const update = (state) =>
      bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status: status(state) })));
    const artifact = (text, append, lastChunk) =>
      bus.publish(
        AgentEvent.artifactUpdate(
          TaskArtifactUpdateEvent.fromJSON({
            taskId,
            contextId,
            artifact: { artifactId: `${taskId}-1`, parts: [{ text }] },
            append,
            lastChunk,
          }),
        ),
      );
    const started = {
      id: taskId,
      contextId,
      status: status('TASK_STATE_SUBMITTED'),
      history: [Message.toJSON(userMessage)],
    };
    bus.publish(AgentEvent.task(context.task ?? Task.fromJSON(started)));
    update('TASK_STATE_WORKING');
    if (verb === 'ask') {
      update('TASK_STATE_INPUT_REQUIRED');
      return;
    }
    if (verb === 'slow') {
      const run = { contextId, canceled: false };
      this.#running.set(taskId, run);
      await sleep(this.#slow * 1000);
      this.#running.delete(taskId);
      if (run.canceled) {
        return;
      }
    }
    if (verb === 'task') {
      artifact('part one ', false, false);
      artifact(argument, true, true);
    }
    update('TASK_STATE_COMPLETED');
  }

  cancelTask = async (taskId, bus) => {
    const run = this.#running.get(taskId);
    if (!run) {
      return;
    }
    run.canceled = true;
    const canceled = { taskId, contextId: run.contextId, status: status('TASK_STATE_CANCELED') };
    bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON(canceled)));
  };
}

function seen(context) {
  const headers = context.state.get('headers');
  return {
    tenant: context.tenant ?? '',
    version: context.requestedVersion,
    extensions: [...(context.requestedExtensions ?? [])].sort(),
    rawVersion: headers['a2a-version'] ?? null,
    rawExtensions: headers['a2a-extensions'] ?? null,
  };
}

// The SDK makes a failed task of whatever its agent throws, so named errors are thrown here.
class Handler extends DefaultRequestHandler {
  async sendMessage(params, context) {
    refuse(params);
    return super.sendMessage(params, context);
  }

  async *sendMessageStream(params, context) {
    refuse(params);
    for await (const event of super.sendMessageStream(params, context)) {
      yield event;
      if (textOf(params.message) === 'break') {
        throw new UnsupportedOperationError('broken on request');
      }
    }
  }
}

function refuse(params) {
  if (textOf(params.message) === 'fail') {
    throw new ContentTypeNotSupportedError('refused on request');
  }
}

const { values: options } = parseArgs({
  options: {
    order: { type: 'string', default: 'JSONRPC,HTTP+JSON,GRPC' },
    tenant: { type: 'string', default: '' },
    slow: { type: 'string', default: '3' },
    key: { type: 'string' },
  },
});

const app = express();
const web = createServer(app).listen(0, '127.0.0.1');
await once(web, 'listening');
const rpc = new Server();
const port = await new Promise((resolve, reject) =>
  rpc.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
    error ? reject(error) : resolve(bound),
  ),
);
const url = `http://127.0.0.1:${web.address().port}`;
const addresses = { JSONRPC: `${url}/rpc`, 'HTTP+JSON': `${url}/rest`, GRPC: `127.0.0.1:${port}` };
const interfaces = Object.fromEntries(options.order.split(',').map((binding) => [binding, addresses[binding]]));

const card = {
  name: 'a2a-js peer',
  description: 'Does what the text says.',
  version: '1',
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  capabilities: {
    streaming: true,
    pushNotifications: true,
    extendedAgentCard: true,
    extensions: [{ uri: EXTENSION, description: 'Declared, and not required.' }],
  },
  skills: [{ id: 'echo', name: 'Echo', description: 'Says it again.', tags: ['echo'] }],
  supportedInterfaces: Object.entries(interfaces).map(([protocolBinding, address]) => ({
    url: address,
    protocolBinding,
    protocolVersion: '1.0',
    tenant: options.tenant,
  })),
};
const hidden = { id: 'hidden', name: 'Hidden', description: 'For those who are known.', tags: ['hidden'] };
const extended = { ...card, skills: [...card.skills, hidden] };

const configs = new InMemoryPushNotificationStore();
const requestHandler = new Handler(
  AgentCard.fromJSON(card),
  new InMemoryTaskStore(),
  new Agent(Number(options.slow)),
  undefined,
  configs,
  new DefaultPushNotificationSender(configs),
  async () => AgentCard.fromJSON(extended),
);
app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
if (options.key) {
  const sign = generateAgentCardSignature(JSON.parse(options.key), { alg: 'ES256', kid: 'k1', typ: 'JOSE' });
  const agentCardProvider = () => sign(AgentCard.fromJSON(card));
  app.use('/signed/.well-known/agent-card.json', agentCardHandler({ agentCardProvider }));
}
app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
app.use('/rest', restHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
rpc.addService(A2AService, grpcService({ requestHandler, userBuilder: GrpcUserBuilder.noAuthentication }));

process.stdin.resume().on('end', () => process.exit(0));
process.on('SIGTERM', () => process.exit(0));
process.stdout.write(`${JSON.stringify({ url, interfaces })}\n`);
