/**
 * Home channels: the chat of an account for messages that belong to no other chat. The one that a person has chosen with
 * `/sethome` has precedence over the configuration, until `/sethome off`.
 */
import type { Target } from '../../message/source.ts'
import type { PlatformAccount } from '../../platforms/accounts.ts'
import { exec, pick, query, row, rows, type Transaction } from '../../store/query.ts'
import type { Store } from '../../store/store.ts'

export interface HomeChannel {
  readonly target: Target
  readonly name?: string | undefined
  readonly origin: 'command' | 'configuration'
}

const selectAll = query((db, _: Record<never, never>) =>
  db.selectFrom('home_channels').select(['platform', 'account', 'chat_id', 'thread_id', 'name']),
)

const upsert = query(
  (
    db,
    p: { platform: string; account: string; chat_id: string; thread_id: string; name: string; updated_at: number },
  ) =>
    db
      .insertInto('home_channels')
      .values(pick(p, 'platform', 'account', 'chat_id', 'thread_id', 'name', 'updated_at'))
      .onConflict((conflict) =>
        conflict
          .columns(['platform', 'account'])
          .doUpdateSet({ chat_id: p.chat_id, thread_id: p.thread_id, name: p.name, updated_at: p.updated_at }),
      ),
)

const remove = query((db, p: { platform: string; account: string }) =>
  db
    .deleteFrom('home_channels')
    .where('platform', '=', p.platform)
    .where('account', '=', p.account)
    .returning('chat_id'),
)

/** Makes a chat the home channel of its account. */
export function* setHomeChannel(
  { platform, account, chatId, threadId = '' }: Target,
  name: string,
  now: number,
): Transaction<void> {
  yield* exec(upsert, { platform, account, chat_id: chatId, thread_id: threadId, name, updated_at: now })
}

/** The configuration decides again. False if nothing was chosen. */
export function* clearHomeChannel({ platform, account }: Target): Transaction<boolean> {
  return (yield* row(remove, { platform, account })) !== undefined
}

/** The home channels of the accounts that are not switched off, in the order of the accounts. */
export function* findHomeChannels(accounts: readonly PlatformAccount[]): Transaction<readonly HomeChannel[]> {
  const chosen = yield* rows(selectAll, {})
  return accounts.flatMap(({ platform: { name: platform }, account, homeChannel, blocked }): HomeChannel[] => {
    if (blocked !== undefined) return []
    const selected = chosen.find((channel) => channel.platform === platform && channel.account === account)
    if (selected !== undefined) {
      const thread = selected.thread_id === '' ? {} : { threadId: selected.thread_id }
      const target = { platform, account, chatId: selected.chat_id, ...thread }
      return [{ target, ...(selected.name === '' ? {} : { name: selected.name }), origin: 'command' }]
    }
    if (homeChannel === undefined) return []
    const { chatId, threadId, name } = homeChannel
    const target = { platform, account, chatId, threadId }
    return [{ target, name, origin: 'configuration' }]
  })
}

/** For the status. Rejects `store/…`. */
export function readHomeChannels({
  store,
  accountDirectory,
}: {
  readonly store: Store
  readonly accountDirectory: { list(): readonly PlatformAccount[] }
}): Promise<readonly HomeChannel[]> {
  return store.run(() => findHomeChannels(accountDirectory.list()))
}
