/**
 * The names that version 0.1 had for members of a platform's context. An adapter that was written for it keeps working until 0.3.
 */
import type { PlatformContext, PlatformContextOf01 } from './adapter.ts'

export function withNamesOf01(context: Omit<PlatformContext, keyof PlatformContextOf01>): PlatformContext {
  const { rateLimited, connection, catchUp, turns, chats, questions, menu, gateway } = context
  return {
    ...context,
    press: questions.press,
    marks: catchUp.cursors,
    commands: menu.commands,
    paced: rateLimited,
    outcome: turns.waitForResult,
    stop: turns.stop,
    history: chats.history,
    health: connection.health,
    refused: connection.refused,
    received: connection.received,
    info: gateway.info,
  }
}
