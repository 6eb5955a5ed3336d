/**
 * Sends what the person writes: a line that names a picture attaches it to the next message, everything else is a message.
 */

import { describeError } from '../../lib/describe-error.ts'
import { type ChatPictures, createChatPictures } from '../chat/chat-pictures.ts'
import type { LiveConversations } from './live-conversations.ts'
import type { Store } from './store.ts'

export interface MessagesOptions {
  readonly store: Store
  readonly userHome: string
  readonly signal: AbortSignal
  live(): Promise<LiveConversations>
}

export function createMessages({ store, userHome, signal, live }: MessagesOptions) {
  /** Pictures wait for the next message of their conversation. */
  const attached = new Map<string, ChatPictures>()

  /** Never rejects: what fails is an entry of the conversation. Without a gateway the message is lost with the interface. */
  async function send(chat: string, line: string): Promise<void> {
    try {
      const conversations = await live()
      const pictures = picturesOf(chat, conversations)
      const text = pictures.isNamedIn(line) ? await readPictures(chat, line, pictures) : line
      if (text === '') return
      await conversations.send(chat, text, text.startsWith('/') ? [] : pictures.take())
    } catch (error) {
      if (!signal.aborted) store.dispatch(chat, { type: 'error', text: describeError(error) })
    }
  }

  async function readPictures(chat: string, line: string, pictures: ChatPictures): Promise<string> {
    const { text, notice } = await pictures.read(line)
    if (notice !== undefined) store.dispatch(chat, { type: 'notice', text: notice })
    return text
  }

  function picturesOf(chat: string, conversations: LiveConversations): ChatPictures {
    const known = attached.get(chat)
    if (known !== undefined) return known
    const created = createChatPictures({ client: conversations.client(chat), userHome, signal })
    attached.set(chat, created)
    return created
  }

  return { send }
}
