/**
 * Ends the turn of a job that does nothing any more (contract hermes.md §4.8). Its activity is in the database: it is looked at when the
 * limit has passed, and not before.
 */
import { formatDuration } from '../../lib/duration.ts'
import { sleep } from '../../lib/timers.ts'
import type { TurnResult } from '../../message/turn-result.ts'
import { query, row, type Transaction } from '../../store/query.ts'
import type { Runtime } from '../../store/runtime.ts'
import type { CronCore } from './cron-gateway.ts'

/** Waits like `wait`. A turn that waits for its beginning, or for a tool, is active. */
export async function waitWhileActive(
  { store, clock, log }: Pick<Runtime, 'store' | 'clock' | 'log'>,
  { turnResults, sessionServices }: Pick<CronCore, 'turnResults' | 'sessionServices'>,
  seq: number,
  limitMs: number,
  signal: AbortSignal,
): Promise<TurnResult> {
  const ended = new AbortController()
  let isStopped = false

  async function watch(): Promise<void> {
    for (let wait = limitMs; ; ) {
      await sleep(wait, ended.signal)
      if (ended.signal.aborted) return
      const last = await store.run(() => findLastActivity(seq))
      const idleMs = last === undefined ? 0 : clock() - last
      if (idleMs >= limitMs) break
      wait = limitMs - idleMs
    }
    isStopped = true
    log.warn({ event: 'cron.turn_idle', seq, limitMs }, 'the turn of a scheduled job did nothing, and is ended')
    await sessionServices.stopEvent(seq)
  }

  const watching = watch().catch((error: unknown) => {
    log.error({ event: 'cron.turn_not_watched', seq, err: error }, 'the turn of a scheduled job is not watched')
  })
  try {
    const result = await turnResults.wait(seq, signal)
    if (!isStopped || result.status === 'done') return result
    return {
      ...result,
      text: `The turn did nothing for ${formatDuration(limitMs)} and was ended. ${result.text}`.trim(),
    }
  } finally {
    ended.abort()
    await watching
  }
}

const selectTurn = query((db, p: { seq: number }) =>
  db
    .selectFrom('turn_inputs')
    .innerJoin('turns', 'turns.id', 'turn_inputs.turn_id')
    .leftJoin('tool_calls', (join) =>
      join.onRef('tool_calls.turn_id', '=', 'turns.id').on('tool_calls.state', '=', 'started'),
    )
    .select(['turns.session_id', 'turns.started_at', 'tool_calls.call_id'])
    .where('turn_inputs.seq', '=', p.seq)
    .limit(1),
)

const selectLastMessage = query((db, p: { session_id: string }) =>
  db.selectFrom('messages').select('created_at').where('session_id', '=', p.session_id).orderBy('ord', 'desc').limit(1),
)

/** ms since 1970; undefined while it waits. */
function* findLastActivity(seq: number): Transaction<number | undefined> {
  const turn = yield* row(selectTurn, { seq })
  if (turn === undefined || turn.call_id !== null) return undefined
  const message = yield* row(selectLastMessage, { session_id: turn.session_id })
  return Math.max(turn.started_at, message?.created_at ?? 0)
}
