/**
 * Checks an account for `hermes doctor`: its tokens, its scopes and how events arrive. Changes nothing at Slack; the unused
 * socket URL of `apps.connections.open` expires.
 */
import type { DiagnosticResult } from '#sdk'
import type { CallResult } from './connection/api.ts'
import { requiredScopes } from './connection/scopes.ts'
import { type JsonRecord, recordAt, textAt } from './inbound/payload.ts'
import type { SlackOptions } from './options.ts'

export interface DiagnoseDeps {
  readonly account: string
  readonly options: SlackOptions
  readonly gatewayUrl: string | undefined
  /** With the bot token. */
  callWithBotToken(method: string): Promise<CallResult>
  /** With the app token. */
  callWithAppToken(method: string): Promise<CallResult>
}

const appSettingsUrl = 'https://api.slack.com/apps'

export async function diagnose(deps: DiagnoseDeps): Promise<DiagnosticResult[]> {
  const [token, transport] = await Promise.all([diagnoseToken(deps), diagnoseTransport(deps)])
  return [...token, ...transport]
}

async function diagnoseToken({ callWithBotToken }: DiagnoseDeps): Promise<DiagnosticResult[]> {
  const result = await callWithBotToken('auth.test')
  if (!result.ok) {
    const { problem, error } = result.failure
    const isInvalid = problem === 'unauthorised' || problem === 'rejected'
    return [
      {
        state: 'problem',
        text: `bot_token: ${error}`,
        advice: isInvalid
          ? `Open ${appSettingsUrl}, choose the app, OAuth & Permissions, and copy the Bot User OAuth Token (xoxb-…) into SLACK_BOT_TOKEN.`
          : 'Check the network of this machine and `api_url`; the token could not be checked.',
      },
    ]
  }
  const team = textAt(result.data, 'team') ?? 'a workspace'
  const user = textAt(result.data, 'user') ?? 'the bot'
  const isBot = textAt(result.data, 'bot_id') !== undefined
  const identity: DiagnosticResult = { state: 'ok', text: `signed in as @${user} in ${team}` }
  if (isBot) return [identity, ...diagnoseScopes(result.data)]
  const advice = 'Use the Bot User OAuth Token (xoxb-…), not the token of a user.'
  return [{ state: 'problem', text: `the token belongs to the user @${user}, not to the bot of an app`, advice }]
}

function diagnoseScopes(data: JsonRecord): DiagnosticResult[] {
  const scopes = recordAt(data, 'response_metadata')['scopes']
  if (!Array.isArray(scopes)) return []
  const missing = requiredScopes.filter(({ scope }) => !scopes.includes(scope))
  if (missing.length === 0) return [{ state: 'ok', text: 'the app has all scopes' }]
  return missing.map(({ scope, isRequired, effectWithout }) => ({
    state: isRequired ? 'problem' : 'note',
    text: `the scope ${scope} is missing: ${effectWithout}`,
    advice: `Open ${appSettingsUrl}, choose the app, OAuth & Permissions, Bot Token Scopes: add ${scope}, then press Reinstall to Workspace.`,
  }))
}

async function diagnoseTransport({
  account,
  options,
  gatewayUrl,
  callWithAppToken,
}: DiagnoseDeps): Promise<DiagnosticResult[]> {
  if (options.transport.mode === 'http') {
    const path = account === 'default' ? '/webhooks/slack' : `/webhooks/slack/${account}`
    const localUrl = gatewayUrl === undefined ? '' : ` (here: ${gatewayUrl}${path})`
    return [
      {
        state: 'note',
        text: 'events arrive over HTTP; this check cannot tell whether Slack reaches the gateway',
        advice: `In ${appSettingsUrl}, Event Subscriptions, Interactivity and Slash Commands, the request URL must be reachable from the internet and lead to ${path}${localUrl}. Slack then marks it as Verified.`,
      },
    ]
  }
  const result = await callWithAppToken('apps.connections.open')
  if (result.ok) return [{ state: 'ok', text: 'Socket Mode is enabled, and the app token opens connections' }]
  const { problem, error } = result.failure
  const isNetworkError = problem === 'temporary' || problem === 'rate-limited'
  return [
    {
      state: 'problem',
      text: `app_token: ${error}`,
      advice: isNetworkError
        ? 'Check the network of this machine, then run `hermes doctor` again.'
        : `Open ${appSettingsUrl}, choose the app: Socket Mode must be enabled, and Basic Information → App-Level Tokens must hold one with connections:write. Copy it (xapp-…) into SLACK_APP_TOKEN.`,
    },
  ]
}
