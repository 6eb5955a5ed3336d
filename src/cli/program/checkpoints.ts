/**
 * Defines the commands for checkpoints.
 */
import type { Command } from 'commander'
import type { CliContext } from '../kit/context.ts'
import { createGroup } from '../kit/help.ts'
import { json, run } from './options.ts'

const folder = ['--folder <path>', 'the folder, if it is not the current one'] as const

export function addCheckpointCommands(root: Command, context: CliContext): void {
  const checkpoints = createGroup(root, 'checkpoints', 'files of folders before the agent changed them')
  checkpoints
    .command('list')
    .description('list the checkpoints of all folders, and the space that they take')
    .option(...json)
    .action(run(context, async () => (await import('../checkpoints.ts')).checkpointsList))
  checkpoints
    .command('show <id>')
    .description('show what has changed since a checkpoint of a folder')
    .option(...folder)
    .option(...json)
    .action(run(context, async () => (await import('../checkpoints.ts')).checkpointsShow))
  checkpoints
    .command('restore <id> [file]')
    .summary('restore the files of a folder, or one of them')
    .description(
      'Restores the files of a folder, or one of them, and removes those that were made since. What is there now is kept as another checkpoint.',
    )
    .option(...folder)
    .action(run(context, async () => (await import('../checkpoints.ts')).checkpointsRestore))
  checkpoints
    .command('status')
    .description('say whether checkpoints are taken, how many there are, and the space that they take')
    .option(...json)
    .action(run(context, async () => (await import('../checkpoints.ts')).checkpointsStatus))
  checkpoints
    .command('clear')
    .summary('remove all checkpoints')
    .description('Removes the checkpoints of all folders, or of one. The files of the folders stay as they are.')
    .option(...folder)
    .option('--yes', 'remove them; without it the command only says what it would remove', false)
    .option(...json)
    .action(run(context, async () => (await import('../checkpoints.ts')).checkpointsClear))
  checkpoints
    .command('prune')
    .summary('remove old checkpoints')
    .description(
      'Removes the checkpoints of folders that were not changed for `checkpoints.retention_days` or are gone, and what is beyond `checkpoints.max_total_size_mb`.',
    )
    .option(...json)
    .action(run(context, async () => (await import('../checkpoints.ts')).checkpointsPrune))
}
