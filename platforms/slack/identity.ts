/**
 * Who we are in the workspace.
 */
import { HermesError } from '#sdk'
import type { Identity } from './address.ts'
import type { Failure } from './errors.ts'
import { textIn } from './payload.ts'
import type { SlackCall } from './web.ts'

/** Rejects `platform/unauthorised` where the token is refused, `platform/connect-failed` where Slack did not answer. */
export async function identify(call: SlackCall, signal: AbortSignal): Promise<Identity> {
  const answer = await call('auth.test', {}, signal)
  if (!answer.ok) throw connectError(answer.failure, 'bot_token')
  const teamId = textIn(answer.data, 'team_id')
  const botUserId = textIn(answer.data, 'user_id')
  if (teamId === undefined || botUserId === undefined) {
    throw new HermesError('platform/connect-failed', 'auth.test did not say which workspace the token belongs to.')
  }
  return { teamId, teamName: textIn(answer.data, 'team') ?? teamId, botUserId, botId: textIn(answer.data, 'bot_id') }
}

/** What went wrong while connecting. The code says whether trying again helps. */
export function connectError({ problem, error }: Failure, key: 'bot_token' | 'app_token'): HermesError {
  if (problem === 'unauthorised') return new HermesError('platform/unauthorised', `${key}: ${error}.`)
  return new HermesError(problem === 'rejected' ? 'platform/refused' : 'platform/connect-failed', `${key}: ${error}.`)
}
