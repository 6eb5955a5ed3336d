/**
 * Defines the commands for checkpoints.
 */
import { type Commands, json } from './options.ts'

const folder = ['--folder <path>', 'the folder, if it is not the current one'] as const

export function addCheckpointCommands(root: Commands): void {
  const checkpoints = root
    .group('checkpoints', 'files of folders before the agent changed them')
    .from(() => import('../checkpoints.ts'))
  checkpoints.add('list', 'checkpointsList', 'list the checkpoints of all folders, and the space that they take', json)
  checkpoints.add('show <id>', 'checkpointsShow', 'show what has changed since a checkpoint of a folder', folder, json)
  checkpoints
    .add('restore <id> [file]', 'checkpointsRestore', 'restore the files of a folder, or one of them', folder)
    .description(
      'Restores the files of a folder, or one of them, and removes those that were made since. What is there now is kept as another checkpoint.',
    )
  checkpoints.add(
    'status',
    'checkpointsStatus',
    'say whether checkpoints are taken, how many there are, and the space that they take',
    json,
  )
  checkpoints
    .add('clear', 'checkpointsClear', 'remove all checkpoints')
    .description('Removes the checkpoints of all folders, or of one. The files of the folders stay as they are.')
    .option(...folder)
    .option('--yes', 'remove them; without it the command only says what it would remove', false)
    .option(...json)
  checkpoints
    .add('prune', 'checkpointsPrune', 'remove old checkpoints', json)
    .description(
      'Removes the checkpoints of folders that were not changed for `checkpoints.retention_days` or are gone, and what is beyond `checkpoints.max_total_size_mb`.',
    )
}
