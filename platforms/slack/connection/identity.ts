/**
 * Who we are in the workspace.
 */
import { HermesError } from '#sdk'
import type { CallFailure } from '../errors.ts'
import { textAt } from '../inbound/payload.ts'
import type { WorkspaceIdentity } from '../inbound/source.ts'
import type { ApiCall } from './api.ts'

/** Rejects `platform/unauthorised` where the token is refused, `platform/connect-failed` where Slack did not answer. */
export async function fetchIdentity(call: ApiCall, signal: AbortSignal): Promise<WorkspaceIdentity> {
  const answer = await call('auth.test', {}, signal)
  if (!answer.ok) throw toConnectError(answer.failure, 'bot_token')
  const teamId = textAt(answer.data, 'team_id')
  const botUserId = textAt(answer.data, 'user_id')
  if (teamId === undefined || botUserId === undefined) {
    throw new HermesError('platform/connect-failed', 'auth.test did not say which workspace the token belongs to.')
  }
  return { teamId, teamName: textAt(answer.data, 'team') ?? teamId, botUserId, botId: textAt(answer.data, 'bot_id') }
}

/** What went wrong while connecting. The code says whether trying again helps. */
export function toConnectError({ problem, error }: CallFailure, key: 'bot_token' | 'app_token'): HermesError {
  if (problem === 'unauthorised') return new HermesError('platform/unauthorised', `${key}: ${error}.`)
  return new HermesError(problem === 'rejected' ? 'platform/refused' : 'platform/connect-failed', `${key}: ${error}.`)
}
