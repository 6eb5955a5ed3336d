/**
 * Turns that the gateway itself answers: unknown commands, `/compress`, turns that were stopped or interrupted before a restart, and
 * turns whose attempts have all failed.
 */

import type { ChosenModel } from '../../agent/models/chosen-model.ts'
import { HermesError } from '../../lib/errors.ts'
import { noUsage } from '../../message/transcript.ts'
import { StopRequested } from '../../sessions/running-turns.ts'
import type { Turn } from '../../sessions/turn.ts'
import type { TurnWithoutModel } from './claim.ts'
import type { TurnRunResult } from './output.ts'
import { interruptedResult, stoppedResult } from './without-answer.ts'

export interface WithoutModelDeps {
  /** Resolves with the text for the user. */
  compressOnRequest(turn: Turn, focus: string, choose: () => Promise<ChosenModel>, signal: AbortSignal): Promise<string>
  /** The model of the conversation. Rejects `config/...` when it cannot be used. */
  model(turn: Turn): Promise<ChosenModel>
}

export type CompleteWithoutModel = (claim: TurnWithoutModel, signal: AbortSignal) => Promise<TurnRunResult>

const emptyResult = {
  ord: 0,
  usage: noUsage,
  model: '',
  provider: '',
  iterations: 0,
  notice: true,
  reason: null,
} as const

export function createWithoutModel(deps: WithoutModelDeps): CompleteWithoutModel {
  return async (claim, signal) => {
    const { turn } = claim
    switch (claim.kind) {
      case 'compress':
        return await compressSession(deps, turn, claim.focus, signal)
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
}

async function compressSession(
  { compressOnRequest, model }: WithoutModelDeps,
  turn: Turn,
  focus: string,
  signal: AbortSignal,
): Promise<TurnRunResult> {
  try {
    const text = await compressOnRequest(turn, focus, () => model(turn), signal)
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
