/**
 * The common part of the bare bots: each message is answered by the instant model that the gateway also uses, and the
 * conversation is kept in memory. There is no queue, no storage and no log.
 */
import { z } from 'zod'
import { handleRequest } from './child-requests.ts'
import { createPost, readPrefix } from './instant-post.ts'

export function createReplies(): (chat: string, text: string) => Promise<string> {
  const post = createPost()
  const chats = new Map<string, { role: string; content: string }[]>()
  return async (chat, text) => {
    const messages = chats.get(chat) ?? [{ role: 'system', content: 'You are a helpful agent.' }]
    chats.set(chat, messages)
    messages.push({ role: 'user', content: text })
    const body = JSON.stringify({ model: 'bench', messages, stream: true })
    const response = await post({ headers: {}, body }, new AbortController().signal)
    const content = (await readPrefix(response.body))
      .split('\n')
      .flatMap((line) => (line.startsWith('data: {') ? [textIn(line.slice('data: '.length))] : []))
      .join('')
    messages.push({ role: 'assistant', content })
    return content
  }
}

/** Reports that the bot is connected, and answers requests for its CPU time. */
export function reportReady(): void {
  handleRequest('cpu', z.looseObject({}), () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000
  })
  process.send?.('up')
}

function textIn(frame: string): string {
  return Object(JSON.parse(frame)).choices[0]?.delta.content ?? ''
}
