/**
 * Where the live drafts of running turns stand. Their text is never stored, their address is: the final answer of a
 * turn then replaces what people saw growing, also after a crash.
 */
import { exec, query, rows, type UseCase } from '../store/query.ts'
import type { Chat } from './queries.ts'

const all = query((db, _: Record<never, never>) => db.selectFrom('drafts').select(['turn_id', 'platform_id']))

const store = query(
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

const forget = query((db, p: { turn_id: string }) => db.deleteFrom('drafts').where('turn_id', '=', p.turn_id))

/** The address of every draft whose turn has not ended; there are as many as turns run. */
export function* readDrafts(): UseCase<readonly { turn_id: string; platform_id: string }[]> {
  return yield* rows(all, {})
}

export function* storeDraft(
  turnId: string,
  { platform, account, chatId }: Chat,
  messageId: string,
  now: number,
): UseCase<void> {
  yield* exec(store, { turn_id: turnId, platform, account, chat_id: chatId, platform_id: messageId, now })
}

/** The final answer has taken the address over. */
export function* forgetDraft(turnId: string): UseCase<void> {
  yield* exec(forget, { turn_id: turnId })
}
