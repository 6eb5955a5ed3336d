/**
 * The chats that the person who holds the token may change through the API.
 */
import { HermesError } from '../../lib/errors.ts'
import type { SessionSource } from '../../message/source.ts'
import type { ApiServices } from '../services.ts'

/**
 * A direct chat of the owner. Only a platform whose people hold the token has such chats: no one else chooses where the agent works, and
 * what is in a chat of another person. Throws `http/not-found` and `http/bad-request`.
 */
export function chatOfOwner(
  { accountDirectory }: Pick<ApiServices, 'accountDirectory'>,
  { platform, chat_id: chatId }: { readonly platform: string; readonly chat_id: string },
): SessionSource {
  if (accountDirectory.platform(platform)?.access !== 'token')
    throw new HermesError(
      'http/not-found',
      `There is no platform ${platform.slice(0, 100)} whose people hold the token.`,
    )
  if (!/^[\w.@-]{1,128}$/.test(chatId))
    throw new HermesError('http/bad-request', 'chat: expected at most 128 letters, digits, . _ @ -.')
  return { platform, account: 'default', chatId, chatType: 'dm', userId: 'owner' }
}
