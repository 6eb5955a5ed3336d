/**
 * Retries or drops a dead letter of the inbox or the outbox: through the running daemon, or in the database of the home
 * when none is running.
 */
import { HermesError, isHermesError } from '../../lib/errors.ts'
import type { Transaction } from '../../store/query.ts'
import type { CliContext } from '../kit/context.ts'
import { type Daemon, findRunningDaemon, warnVersionMismatch } from '../kit/daemon.ts'
import { readSettings } from '../kit/settings.ts'

export interface DeadLetterAction {
  /** The number in the list. */
  readonly id: number
  /** What the number belongs to; a dead letter by default. */
  readonly what?: string
  /** The same action in the daemon. */
  inDaemon(daemon: Daemon): Promise<unknown>
  /** The action without a daemon; returns false when no dead letter has this number. */
  transaction(): Transaction<boolean>
}

/** Resolves with where the action was applied. Throws `cli/not-found` when no dead letter has this number. */
export async function applyDeadLetterAction(
  context: CliContext,
  { id, what = 'dead letter', inDaemon, transaction }: DeadLetterAction,
): Promise<'daemon' | 'home'> {
  const settings = await readSettings(context)
  const daemon = await findRunningDaemon({ home: context.home, token: settings.token })
  if (daemon === undefined) {
    const { updateHomeStore } = await import('../kit/home-store.ts')
    if (!(await updateHomeStore(context.home, transaction, false))) throw createNotFoundError(what, id)
    return 'home'
  }
  warnVersionMismatch(context, daemon)
  try {
    await inDaemon(daemon)
    return 'daemon'
  } catch (error) {
    throw isHermesError(error, 'http/not-found') ? createNotFoundError(what, id, error) : error
  }
}

function createNotFoundError(what: string, id: number, cause?: unknown): HermesError {
  return new HermesError('cli/not-found', `No ${what} has the number ${id}.`, { cause })
}
