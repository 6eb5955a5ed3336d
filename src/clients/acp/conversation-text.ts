/**
 * The texts of a conversation as an editor receives them: it appends, so that a growing draft becomes the pieces that were added.
 */
import type { SessionUpdate } from '@agentclientprotocol/sdk'

export interface ConversationText {
  /** The updates for the text that a message has now. `final`: it does not grow any more. */
  show(id: string, text: string, final: boolean): SessionUpdate[]
}

/** The form of `/reasoning show` (src/flows/turn/thinking.ts). */
const thinking = /^> 💭 \*\*Thinking\*\*\n((?:>.*\n)+)\n/

/** Messages whose shown length is remembered: more are never written at the same time. */
const maxOpen = 100

export function createConversationText(): ConversationText {
  const shown = new Map<string, string>()
  let lastId: string | undefined

  return {
    show(id, text, final) {
      const { thought, answer } = final ? splitThinking(text) : { thought: '', answer: text }
      const before = shown.get(id) ?? ''
      const updates: SessionUpdate[] = []
      if (thought !== '') updates.push(chunk('agent_thought_chunk', id, thought))
      // What was shown cannot be taken back: another text follows as a whole.
      const added = answer.startsWith(before) ? answer.slice(before.length) : `\n\n${answer}`
      if (added !== '') {
        const isNext = before === '' && lastId !== undefined && lastId !== id
        updates.push(chunk('agent_message_chunk', id, isNext ? `\n\n${added}` : added))
        lastId = id
      }
      shown.delete(id)
      shown.set(id, answer)
      for (const oldest of shown.keys()) if (shown.size > maxOpen) shown.delete(oldest)
      return updates
    },
  }
}

/** What the model thought, and its answer. */
export function splitThinking(text: string): { readonly thought: string; readonly answer: string } {
  const quoted = thinking.exec(text)
  if (quoted === null) return { thought: '', answer: text }
  return { thought: (quoted[1] ?? '').replace(/^> ?/gm, '').trimEnd(), answer: text.slice(quoted[0].length) }
}

export function chunk(
  sessionUpdate: 'agent_message_chunk' | 'agent_thought_chunk' | 'user_message_chunk',
  messageId: string,
  text: string,
): SessionUpdate {
  return { sessionUpdate, messageId, content: { type: 'text', text } }
}
