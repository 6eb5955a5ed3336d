/**
 * Defines the commands for many prompts.
 */
import { type Commands, json, parseCount } from './options.ts'

export function addBatchCommands(root: Commands): void {
  root
    .group('batch', 'many prompts from a file')
    .add(() => import('../batch.ts'), 'run <prompts>', 'batchRun', 'ask the agent each prompt of a file')
    .description(
      'Asks the agent each prompt of a file, in a conversation of its own, and appends the answers to the file of results. A line is a JSON object with `prompt`, or a JSON string; `id`, `system`, `toolsets`, `image` and `metadata` may be added. The same command continues a batch that was interrupted or killed: no answered prompt is sent again. Exit code 0 when all prompts are answered, 1 when one failed or a line is broken, 75 when the gateway went away, 130 when interrupted.',
    )
    .requiredOption('-o, --out <file>', 'the file of results, one JSON object a line')
    .option('-c, --concurrency <number>', 'how many prompts are asked at once', parseCount('--concurrency', 64), 4)
    .option('-t, --toolsets <names>', 'offer only these toolsets, separated by commas, unless a prompt names its own')
    .option(
      '--system <text>',
      'add this to the system prompt, unless a prompt has its own; trajectories do not have it',
    )
    .option('--trajectories <file>', 'write the conversations in the ShareGPT form of Hermes, too')
    .option('--limit <number>', 'only the first prompts', parseCount('--limit', 1_000_000))
    .option('--retry-failed', 'ask prompts again that have failed', false)
    .option('--rerun-changed', 'ask prompts again that were changed since they were answered', false)
    .option('--strict', 'send nothing if a line is broken', false)
    .option(json[0], 'print the summary as JSON', json[2])
}
