/**
 * Texts of people and of models in the responses of the JSON API: without the secrets of the gateway, and with characters visible that
 * a terminal would carry out or that cannot be seen. Ids and names of files stay as they are.
 */
import { toVisibleText } from '../../lib/visible-text.ts'
import type { ApiQuestion } from '../shapes/approvals.ts'
import type { ApiMessage, ApiSession, ApiTrajectory } from '../shapes/sessions.ts'

/** Replaces the secrets of the gateway in a text. */
export type Withhold = (text: string) => string

export function cleanText(withhold: Withhold, text: string): string {
  return toVisibleText(withhold(text), { keepsMarks: true })
}

export function cleanOptional(withhold: Withhold, text: string | null): string | null {
  return text === null ? null : cleanText(withhold, text)
}

export function cleanSession(withhold: Withhold, session: ApiSession): ApiSession {
  const { title, about, chat_name, match } = session
  return {
    ...session,
    title: cleanText(withhold, title),
    about: cleanText(withhold, about),
    chat_name: cleanOptional(withhold, chat_name),
    ...(match === undefined ? {} : { match: { ...match, excerpt: cleanText(withhold, match.excerpt) } }),
  }
}

export function cleanMessage(withhold: Withhold, message: ApiMessage): ApiMessage {
  const calls = message.tool_calls.map((call) => ({
    ...call,
    arguments: cleanText(withhold, call.arguments),
    label: cleanText(withhold, call.label),
    summary: cleanText(withhold, call.summary),
  }))
  return { ...message, text: cleanText(withhold, message.text), tool_calls: calls }
}

export function cleanQuestion(withhold: Withhold, question: ApiQuestion): ApiQuestion {
  const { text, command, description, user_name, chat_name, choices } = question
  return {
    ...question,
    text: cleanText(withhold, text),
    command: cleanOptional(withhold, command),
    description: cleanOptional(withhold, description),
    user_name: cleanOptional(withhold, user_name),
    chat_name: cleanOptional(withhold, chat_name),
    choices: choices.map(({ answer, label }) => ({ answer, label: cleanText(withhold, label) })),
  }
}

/** The signs stay: it is what the model has read and written. */
export function cleanTrajectory(withhold: Withhold, trajectory: ApiTrajectory): ApiTrajectory {
  const { conversations } = trajectory
  return { ...trajectory, conversations: conversations.map(({ from, value }) => ({ from, value: withhold(value) })) }
}
