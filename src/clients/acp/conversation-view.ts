/**
 * Shows the events of a conversation in the editor: texts, notices, tools and questions.
 */
import type { SessionUpdate } from '@agentclientprotocol/sdk'
import { stripControlCharacters } from '../../lib/visible-text.ts'
import type { ChatEvent } from '../chat/chat-client.ts'
import { chunk, createConversationText } from './conversation-text.ts'
import type { SessionQuestions } from './questions.ts'
import type { ToolCalls } from './tool-calls.ts'

export interface ConversationViewOptions {
  readonly showsNotices: boolean
  readonly calls: Pick<ToolCalls, 'show'>
  readonly questions: SessionQuestions
  update(update: SessionUpdate): Promise<void>
  /** A complete text was shown. */
  shown(words: string): void
  /** True for a notice that is not shown now. `turnId`: of the turn to which it belongs. */
  holds(words: string, turnId: string | undefined): boolean
  warn(text: string): void
}

export interface ConversationView {
  show(event: ChatEvent): Promise<void>
  /** A message of the gateway, apart from the answer where the editor can show that. */
  notice(words: string): Promise<void>
  say(words: string): Promise<void>
  /** These texts were shown from the store. Their messages may still come, once. */
  replayed(texts: readonly string[]): void
}

/** The gateway sends as many again. */
const maxSeen = 200
/** Texts from the store whose messages may still come. */
const maxReplayed = 5

export function createConversationView(options: ConversationViewOptions): ConversationView {
  const { showsNotices, calls, questions, update, shown, holds, warn } = options
  const text = createConversationText()
  /** Texts since the last connection: after a lost one, the gateway sends them again. */
  let seen: string[] = []
  let fromStore: string[] = []

  return {
    show,
    notice,
    say: (words) => sayWith(update, words),
    replayed(texts) {
      fromStore = texts.slice(-maxReplayed)
    },
  }

  async function show(event: ChatEvent): Promise<void> {
    switch (event.type) {
      case 'ready':
        seen = []
        return
      case 'draft':
        return await showText(event.id, event.text, false)
      case 'missed':
      case 'message': {
        const { buttons = [] } = event
        if (buttons.length > 0) return questions.ask({ id: event.id, text: plain(event.text), buttons })
        if (event.type === 'missed' && seen.includes(event.text)) return
        seen = [...seen.slice(1 - maxSeen), event.text]
        if (fromStore.includes(event.text)) {
          fromStore = fromStore.filter((text) => text !== event.text)
          return
        }
        if (event.kind === 'message') return await showText(event.id, event.text, true)
        if (holds(event.text, event.turnId)) return
        shown(event.text)
        return await notice(event.text)
      }
      case 'settled':
        return await questions.settled(event.button, plain(event.text))
      case 'activity':
        return await calls.show(event.activity)
      case 'lost':
        return warn('the connection to the gateway is lost; trying again')
    }
  }

  async function showText(messageId: string, words: string, final: boolean): Promise<void> {
    for (const change of text.show(messageId, plain(words), final)) await update(change)
    if (final) shown(words)
  }

  async function notice(words: string): Promise<void> {
    if (!showsNotices) return await sayWith(update, words)
    const [title = '', ...rest] = plain(words).split('\n')
    const description = rest.join('\n').trim()
    await update({ sessionUpdate: 'notice', severity: 'info', title, ...(description === '' ? {} : { description }) })
  }
}

export async function sayWith(update: ConversationViewOptions['update'], words: string): Promise<void> {
  await update(chunk('agent_message_chunk', crypto.randomUUID(), `\n\n${plain(words)}\n\n`))
}

/** What an agent says may contain anything. */
function plain(text: string): string {
  return stripControlCharacters(text)
}
