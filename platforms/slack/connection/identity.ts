/**
 * Reads the workspace and the bot user of the token with `auth.test`.
 */
import { HermesError } from '#sdk'
import { toConnectError } from '../errors.ts'
import { textAt } from '../inbound/payload.ts'
import type { WorkspaceIdentity } from '../inbound/source.ts'
import type { ApiCall } from './api.ts'

/** Rejects with `platform/unauthorised` when Slack refuses the token, and with `platform/connect-failed` without a response. */
export async function fetchIdentity(call: ApiCall, signal: AbortSignal): Promise<WorkspaceIdentity> {
  const result = await call('auth.test', {}, signal)
  if (!result.ok) throw toConnectError(result.failure, 'bot_token')
  const teamId = textAt(result.data, 'team_id')
  const botUserId = textAt(result.data, 'user_id')
  if (teamId === undefined || botUserId === undefined) {
    throw new HermesError('platform/connect-failed', 'auth.test returned no workspace for the token.')
  }
  return {
    teamId,
    teamName: textAt(result.data, 'team') ?? teamId,
    botUserId,
    botName: textAt(result.data, 'user'),
    botId: textAt(result.data, 'bot_id'),
  }
}
