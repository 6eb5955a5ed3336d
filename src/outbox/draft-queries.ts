/**
 * Where the live drafts of running turns stand. Their text is never stored, their address is: the final answer of a
 * turn then replaces what people saw growing, also after a crash.
 */
import { exec, query, rows, type Transaction } from '../store/query.ts'
import type { Chat } from './queries.ts'

const selectAll = query((db, _: Record<never, never>) => db.selectFrom('drafts').select(['turn_id', 'platform_id']))

const upsertDraft = query(
  (db, p: { turn_id: string; platform: string; account: string; chat_id: string; platform_id: string; now: number }) =>
    db
      .insertInto('drafts')
      .values({
        turn_id: p.turn_id,
        part: 0,
        platform: p.platform,
        account: p.account,
        chat_id: p.chat_id,
        platform_id: p.platform_id,
        created_at: p.now,
      })
      .onConflict((conflict) =>
        conflict.columns(['turn_id', 'part']).doUpdateSet({ platform_id: p.platform_id, created_at: p.now }),
      ),
)

const deleteByTurn = query((db, p: { turn_id: string }) => db.deleteFrom('drafts').where('turn_id', '=', p.turn_id))

/** The address of every draft whose turn has not ended; there are as many as turns run. */
export function* listDrafts(): Transaction<readonly { turn_id: string; platform_id: string }[]> {
  return yield* rows(selectAll, {})
}

export function* storeDraft(
  turnId: string,
  { platform, account, chatId }: Chat,
  messageId: string,
  now: number,
): Transaction<void> {
  yield* exec(upsertDraft, { turn_id: turnId, platform, account, chat_id: chatId, platform_id: messageId, now })
}

/** The final answer has taken the address over. */
export function* deleteDraft(turnId: string): Transaction<void> {
  yield* exec(deleteByTurn, { turn_id: turnId })
}
