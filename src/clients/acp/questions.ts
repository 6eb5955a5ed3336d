/**
 * The open questions of a session: each one is a permission request, until the person or another place answers it.
 */
import type { SessionUpdate } from '@agentclientprotocol/sdk'
import { messageOf } from '../../lib/errors.ts'
import type { ChatClient } from '../chat/chat-client.ts'
import type { Editor } from './editor.ts'
import { type AskedQuestion, entryOf, optionsOf, permissionRequest } from './permissions.ts'

export interface SessionQuestionsOptions {
  readonly sessionId: string
  /** The folder of the project, absolute. */
  readonly cwd: string
  readonly client: Pick<ChatClient, 'press'>
  readonly editor: Pick<Editor, 'askPermission'>
  /** Aborts when the session is closed. */
  readonly signal: AbortSignal
  update(update: SessionUpdate): Promise<void>
  say(text: string): Promise<void>
}

export interface SessionQuestions {
  /** Asks a question, once. Returns at once. */
  ask(question: AskedQuestion): void
  /** The question with this button was answered or has expired: it is asked no longer. */
  settled(button: string, text: string): Promise<void>
}

export function createSessionQuestions(options: SessionQuestionsOptions): SessionQuestions {
  const { sessionId, cwd, client, editor, signal, update, say } = options
  const open = new Map<string, { readonly question: AskedQuestion; readonly answered: AbortController }>()

  return {
    ask(question) {
      const [first] = question.buttons
      if (first === undefined || open.has(first.id)) return
      const answered = new AbortController()
      open.set(first.id, { question, answered })
      void askPerson(question, AbortSignal.any([signal, answered.signal]))
    },
    async settled(button, text) {
      const pending = [...open.values()].find(({ question }) => question.buttons.some(({ id }) => id === button))
      if (pending === undefined) return
      await close(pending.question, text)
      pending.answered.abort()
    },
  }

  async function askPerson(question: AskedQuestion, until: AbortSignal): Promise<void> {
    try {
      const { outcome } = await editor.askPermission(permissionRequest(sessionId, question, cwd), until)
      if (until.aborted) return
      const refusal = optionsOf(question).find(({ kind }) => kind === 'reject_once')?.optionId
      const chosen = outcome.outcome === 'selected' ? outcome.optionId : refusal
      // A dialog that was closed is no answer to a question in words.
      if (chosen === undefined) return await close(question, '')
      const { status, text } = await client.press(chosen, question.id, signal)
      if (status === 'refused') await say(text)
      await close(question, status === 'taken' ? '' : text)
    } catch (error) {
      if (until.aborted) return
      await say(`The question could not be asked: ${messageOf(error)}\n\n${question.text}`)
    }
  }

  /** The entry of a question has its end, so that it does not look as if it still waited. */
  async function close(question: AskedQuestion, text: string): Promise<void> {
    const [first] = question.buttons
    if (first === undefined || !open.delete(first.id)) return
    await update({
      sessionUpdate: 'tool_call_update',
      toolCallId: entryOf(question),
      status: 'completed',
      ...(text === '' ? {} : { content: [{ type: 'content', content: { type: 'text', text } }] }),
    })
  }
}
