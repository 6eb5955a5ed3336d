/**
 * The lock of the home, seen by a command that wanted it and did not get it.
 */
import { HermesError, isHermesError } from '../lib/errors.ts'
import type { HomeLayout } from '../lib/home.ts'
import { isProcessAlive, readPidFile } from './daemon.ts'

/** For whoever wants to be the daemon: `home/locked` with who is; every other error as it is. */
export function explainDaemonLock(error: unknown, home: HomeLayout): unknown {
  const note = isHermesError(error, 'home/locked') ? readPidFile(home) : undefined
  if (note === undefined || !isProcessAlive(note.pid)) return explainLock(error, home)
  return new HermesError('home/locked', `It is process ${note.pid} at ${note.url}, on ${home.root}.`, {
    hint: '`hermes status` shows it, `hermes gateway stop` ends it; for a second one choose another HERMES_HOME.',
    cause: error,
  })
}

/** For whoever found no daemon to talk to: `home/locked` with what is known about its holder; every other error as it is. */
export function explainLock(error: unknown, home: HomeLayout): unknown {
  if (!isHermesError(error, 'home/locked')) return error
  const note = readPidFile(home)
  if (note !== undefined && isProcessAlive(note.pid)) {
    return new HermesError(
      'home/locked',
      `Process ${note.pid} holds ${home.root} and does not answer at ${note.url}.`,
      {
        hint: 'It may be starting or stopping: try again in a moment. If it hangs, end that process.',
        cause: error,
      },
    )
  }
  return new HermesError('home/locked', `(${home.root})`, {
    hint: 'A gateway may be starting, or another `hermes chat` is open. With a running gateway they share the home.',
    cause: error,
  })
}
