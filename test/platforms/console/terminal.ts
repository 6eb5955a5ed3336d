/**
 * The console platform behind the real HTTP server, as `hermes chat` meets it.
 */

import { createAdapter } from '../../../platforms/console/adapter.ts'
import { type ChatClient, createChatClient } from '../../../src/clients/chat/chat-client.ts'
import { type ServedAdapter, serveAdapter, token } from '../../kit/served-adapter.ts'

export { token }

export const chat = 'chat-1'
export const target = { platform: 'cli', account: 'default', chatId: chat }

export interface Terminal extends ServedAdapter {
  readonly client: ChatClient
}

/** The adapter is made but not connected: its routes come with `connect`. */
export async function openTerminal(options: Parameters<typeof serveAdapter>[2] = {}): Promise<Terminal> {
  const served = await serveAdapter('cli', createAdapter, options)
  return { ...served, client: createChatClient({ url: served.url, token, fetch, chat }) }
}
