/**
 * What the inbox and the outbox have in common for a person: things with a number that were set aside, to be tried
 * again or forgotten. Changes go through the running daemon; without one the home is changed directly.
 */
import { HermesError, isHermesError } from '../lib/errors.ts'
import type { UseCase } from '../store/query.ts'
import type { CliContext } from './context.ts'
import { findRunningDaemon, warnOfOtherVersion } from './daemon.ts'
import { readSettings } from './settings.ts'

export interface Change {
  /** The number from the list. */
  readonly id: number
  /** Where the daemon does it: `/api/inbox/retry`. */
  readonly path: string
  /** What does it without a daemon; false when nothing of this number was set aside. */
  direct(): UseCase<boolean>
}

/** Resolves with who did it. Throws `cli/not-found` when nothing of this number waits. */
export async function change(context: CliContext, { id, path, direct }: Change): Promise<'daemon' | 'home'> {
  const settings = await readSettings(context)
  const daemon = await findRunningDaemon({ home: context.home, token: settings.token, fetch })
  if (daemon === undefined) {
    const { changeHome } = await import('./home-store.ts')
    if (!(await changeHome(context.home, direct, false))) throw notFound(id)
    return 'home'
  }
  warnOfOtherVersion(context, daemon)
  try {
    await daemon.post(path, { id })
    return 'daemon'
  } catch (error) {
    throw isHermesError(error, 'http/not-found') ? notFound(id, error) : error
  }
}

function notFound(id: number, cause?: unknown): HermesError {
  return new HermesError('cli/not-found', `Nothing with the number ${id} was set aside.`, { cause })
}
