// The JavaScript SDK signs, verifies and canonicalizes cards: reads a JSON list of jobs from standard input, prints the
// list of results. A job names its operation `op`, the `card` as JSON, the `key` as a JWK; `typed` makes the card an object
// of the SDK first, as its client and server do.
import { readFileSync } from 'node:fs';
import { AgentCard, canonicalizeAgentCard, generateAgentCardSignature, verifyAgentCardSignature } from '@a2a-js/sdk';

console.log = console.info = console.debug = console.error;

const OPERATIONS = {
  canonical: (card) => canonicalizeAgentCard(card),
  sign: async (card, { key, header }) => {
    const { signatures } = await generateAgentCardSignature(key, header)(card);
    return signatures.at(-1);
  },
  verify: (card, { key }) =>
    verifyAgentCardSignature(async () => key)(card).then(
      () => true,
      () => false
    ),
};

const results = [];
for (const job of JSON.parse(readFileSync(0, 'utf8'))) {
  const card = job.typed ? AgentCard.fromJSON(job.card) : job.card;
  results.push(await OPERATIONS[job.op](card, job));
}
process.stdout.write(JSON.stringify(results));
