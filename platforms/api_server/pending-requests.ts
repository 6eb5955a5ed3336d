/**
 * Finds the pending request of a message or a tool event.
 *
 * Messages contain the id of their request (`replyTo`). Tool events contain only their turn: a new turn is assigned to the
 * oldest request of its chat without one, until its first message shows the correct request.
 */
import type { ToolProgress } from './format-response.ts'

export interface PendingRequest {
  readonly chatId: string
  /** The event's own message id; requests with the same idempotency key share it. */
  readonly messageId: string
  /** Whether the client receives texts while they are written. */
  readonly isLive: boolean
  onText(text: string): void
  onInterimText(text: string): void
  onToolProgress(progress: ToolProgress): void
  /** The chat was asked something, or a question may have ended. */
  onQuestions?(): void
}

export interface PendingRequests {
  /** Returns the function that removes the request. It may be called twice. */
  add(request: PendingRequest): () => void
  /** Whether a request waits for this event. */
  has(messageId: string): boolean
  /** Whether a request of this chat receives texts while they are written. */
  hasLive(chatId: string): boolean
  publishText(turnId: string | undefined, replyTo: string | undefined, text: string): void
  /** A text before tool calls is complete. */
  publishInterimText(turnId: string | undefined, replyTo: string | undefined, text: string): void
  publishToolProgress(turnId: string, progress: ToolProgress): void
  publishQuestions(chatId: string): void
  turnStarted(chatId: string, turnId: string): void
  turnEnded(turnId: string): void
}

export function createPendingRequests(): PendingRequests {
  const requests = new Map<string, Set<PendingRequest>>()
  /** Turn id -> message id. */
  const turns = new Map<string, string>()

  const waitingFor = (messageId: string | undefined) =>
    messageId === undefined ? [] : [...(requests.get(messageId) ?? [])]

  /** The requests that wait for a message of a turn. */
  const receiversOf = (turnId: string | undefined, replyTo: string | undefined) => {
    if (turnId !== undefined && replyTo !== undefined && requests.has(replyTo)) turns.set(turnId, replyTo)
    return waitingFor(replyTo ?? (turnId === undefined ? undefined : turns.get(turnId)))
  }

  return {
    add(request) {
      const { messageId } = request
      const those = requests.get(messageId) ?? new Set()
      requests.set(messageId, those.add(request))
      return () => {
        those.delete(request)
        if (those.size > 0 || requests.get(messageId) !== those) return
        requests.delete(messageId)
        for (const [turnId, id] of turns) if (id === messageId) turns.delete(turnId)
      }
    },
    has: (messageId) => requests.has(messageId),
    hasLive(chatId) {
      for (const those of requests.values())
        for (const request of those) if (request.isLive && request.chatId === chatId) return true
      return false
    },
    publishText(turnId, replyTo, text) {
      for (const request of receiversOf(turnId, replyTo)) request.onText(text)
    },
    publishInterimText(turnId, replyTo, text) {
      for (const request of receiversOf(turnId, replyTo)) request.onInterimText(text)
    },
    publishToolProgress(turnId, progress) {
      for (const request of waitingFor(turns.get(turnId))) request.onToolProgress(progress)
    },
    publishQuestions(chatId) {
      for (const those of requests.values())
        for (const request of those) if (request.chatId === chatId) request.onQuestions?.()
    },
    turnStarted(chatId, turnId) {
      if (turns.has(turnId)) return
      const taken = new Set(turns.values())
      const oldest = [...requests].find(
        ([id, those]) => !taken.has(id) && [...those].some((request) => request.chatId === chatId),
      )
      if (oldest !== undefined) turns.set(turnId, oldest[0])
    },
    turnEnded: (turnId) => void turns.delete(turnId),
  }
}
