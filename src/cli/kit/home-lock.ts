/**
 * Locks the home for a command, and explains why it could not be locked.
 */
import { HermesError, isHermesError } from '../../lib/errors.ts'
import type { HomeLayout } from '../../lib/home.ts'
import { lockHome } from '../../store/sqlite/lock.ts'
import { isProcessAlive, readPidFile } from './daemon.ts'

/** For the daemon: adds the process that holds the lock to `home/locked`. Returns other errors unchanged. */
export function explainDaemonLock(error: unknown, home: HomeLayout): unknown {
  const pidFile = isHermesError(error, 'home/locked') ? readPidFile(home) : undefined
  if (pidFile === undefined || !isProcessAlive(pidFile.pid)) return explainLock(error, home)
  return new HermesError('home/locked', `It is process ${pidFile.pid} at ${pidFile.url}, on ${home.root}.`, {
    hint: '`hermes status` shows it and `hermes gateway stop` stops it. A second gateway needs another HERMES_HOME.',
    cause: error,
  })
}

/** For other commands: adds what is known about the holder to `home/locked`. Returns other errors unchanged. */
export function explainLock(error: unknown, home: HomeLayout): unknown {
  if (!isHermesError(error, 'home/locked')) return error
  const pidFile = readPidFile(home)
  if (pidFile !== undefined && isProcessAlive(pidFile.pid)) {
    return new HermesError(
      'home/locked',
      `Process ${pidFile.pid} holds ${home.root} and does not respond at ${pidFile.url}.`,
      {
        hint: 'It may be starting or stopping. Try again in a moment, or kill the process if it hangs.',
        cause: error,
      },
    )
  }
  return new HermesError('home/locked', `(${home.root})`, {
    hint: 'A gateway may be starting, or another `hermes chat` is open. Several chats need a running gateway.',
    cause: error,
  })
}

/** For commands that change the home while no gateway runs. Throws `home/locked` with what is known about the holder. */
export function lockHomeForCommand(home: HomeLayout): ReturnType<typeof lockHome> {
  try {
    return lockHome(home.lockFile)
  } catch (error) {
    throw explainLock(error, home)
  }
}
