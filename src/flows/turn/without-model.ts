/**
 * Turns that the gateway itself answers: unknown commands, `/compress`, turns that were stopped or interrupted before a restart, and
 * turns whose attempts have all failed. Loaded with the first of them.
 */

import { HermesError } from '../../lib/errors.ts'
import { noUsage } from '../../message/transcript.ts'
import { StopRequested } from '../../sessions/running-turns.ts'
import type { Turn } from '../../sessions/turn.ts'
import type { TurnWithoutModel } from './claim.ts'
import type { TurnRunResult } from './output.ts'
import { interruptedResult, stoppedResult } from './without-answer.ts'

const emptyResult = {
  ord: 0,
  usage: noUsage,
  model: '',
  provider: '',
  iterations: 0,
  notice: true,
  reason: null,
} as const

/** @param compress compresses the conversation and resolves with the text for the user */
export async function completeWithoutModel(
  claim: TurnWithoutModel,
  compress: (turn: Turn, focus: string, signal: AbortSignal) => Promise<string>,
  signal: AbortSignal,
): Promise<TurnRunResult> {
  const { turn } = claim
  switch (claim.kind) {
    case 'compress':
      return await compressedResult(turn, () => compress(turn, claim.focus, signal), signal)
    case 'unknown-command':
      return { ...emptyResult, state: 'done', text: unknownCommandText(claim.command), announced: false }
    case 'stopped':
      return { ...emptyResult, ...stoppedResult(turn, ''), notice: true, announced: wasAnnounced(turn) }
    case 'interrupted':
      return { ...emptyResult, ...interruptedResult(turn, '', claim.by), announced: wasAnnounced(turn) }
    case 'attempts-exhausted':
      return exhaustedResult(turn, claim.reason)
  }
}

async function compressedResult(
  turn: Turn,
  compress: () => Promise<string>,
  signal: AbortSignal,
): Promise<TurnRunResult> {
  try {
    const text = await compress()
    return { ...emptyResult, state: 'done', text, announced: false }
  } catch (error) {
    if (signal.reason instanceof StopRequested) return { ...emptyResult, ...stoppedResult(turn, ''), announced: false }
    throw error
  }
}

function exhaustedResult(turn: Turn, reason: string): TurnRunResult {
  const error = new HermesError('inbox/dead-letter', `(${reason})`)
  const advice =
    'It was removed from this conversation. You can send it again, or write it differently; `/new` starts an empty conversation if it fails again.'
  const operator = `For the operator: the message has the number ${turn.seq}. ${error.hint}`
  const text = `Sorry, I could not answer this message. ${error.meaning} ${advice}\n\n${operator}`
  const failure = { state: 'failed' as const, text, reason, errorCode: error.code, deadLetter: true }
  return { ...emptyResult, ...failure, announced: wasAnnounced(turn) }
}

/** An interrupted turn emitted `agent:start` in an earlier attempt; a compression never does. */
function wasAnnounced({ event, resumed }: Turn): boolean {
  return event.compress === undefined && resumed
}

function unknownCommandText(name: string): string {
  return `Unknown command \`/${name}\`. Type /commands to see what's available, or resend without the leading slash to send as a regular message.`
}
