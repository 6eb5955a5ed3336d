/**
 * What the inbox and the outbox have in common for a person: things with a number that were set aside, to be tried
 * again or forgotten. Changes go through the running daemon; without one the home is changed directly.
 */
import { HermesError, isHermesError } from '../lib/errors.ts'
import type { Transaction } from '../store/query.ts'
import type { CliContext } from './context.ts'
import { findRunningDaemon, warnVersionMismatch } from './daemon.ts'
import { readSettings } from './settings.ts'

export interface DeadLetterAction {
  /** The number from the list. */
  readonly id: number
  /** Where the daemon does it: `/api/inbox/retry`. */
  readonly path: string
  /** What does it without a daemon; false when nothing of this number was set aside. */
  transaction(): Transaction<boolean>
}

/** Resolves with who did it. Throws `cli/not-found` when nothing of this number waits. */
export async function applyDeadLetterAction(
  context: CliContext,
  { id, path, transaction: direct }: DeadLetterAction,
): Promise<'daemon' | 'home'> {
  const settings = await readSettings(context)
  const daemon = await findRunningDaemon({ home: context.home, token: settings.token, fetch })
  if (daemon === undefined) {
    const { updateHomeStore } = await import('./home-store.ts')
    if (!(await updateHomeStore(context.home, direct, false))) throw toNotFoundError(id)
    return 'home'
  }
  warnVersionMismatch(context, daemon)
  try {
    await daemon.post(path, { id })
    return 'daemon'
  } catch (error) {
    throw isHermesError(error, 'http/not-found') ? toNotFoundError(id, error) : error
  }
}

function toNotFoundError(id: number, cause?: unknown): HermesError {
  return new HermesError('cli/not-found', `Nothing with the number ${id} was set aside.`, { cause })
}
