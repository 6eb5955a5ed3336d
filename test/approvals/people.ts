/**
 * The people of the tests of approvals.
 */
import type { SessionSource } from '../../src/message/source.ts'

export const ada: SessionSource = {
  platform: 'chat',
  account: 'bot',
  chatId: 'c',
  chatType: 'dm',
  userId: 'u7',
  userName: 'Ada',
}
export const bob: SessionSource = { ...ada, userId: 'u8', userName: 'Bob' }
