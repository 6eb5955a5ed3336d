/**
 * Looks whether an account can work: its tokens, its rights, its way in. Changes nothing at Slack: a ticket for a socket
 * that nobody uses expires by itself.
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
  const [token, wayIn] = await Promise.all([diagnoseToken(deps), diagnoseTransport(deps)])
  return [...token, ...wayIn]
}

async function diagnoseToken({ callWithBotToken }: DiagnoseDeps): Promise<DiagnosticResult[]> {
  const answer = await callWithBotToken('auth.test')
  if (!answer.ok) {
    const { problem, error } = answer.failure
    const wrong = problem === 'unauthorised' || problem === 'rejected'
    return [
      {
        state: 'problem',
        text: `bot_token: ${error}`,
        advice: wrong
          ? `Open ${appSettingsUrl}, choose the app, OAuth & Permissions, and copy the Bot User OAuth Token (xoxb-…) into SLACK_BOT_TOKEN.`
          : 'Check the network of this machine and `api_url`; the token could not be tried.',
      },
    ]
  }
  const team = textAt(answer.data, 'team') ?? 'a workspace'
  const user = textAt(answer.data, 'user') ?? 'the bot'
  const notBot = textAt(answer.data, 'bot_id') === undefined
  const who: DiagnosticResult = { state: 'ok', text: `signed in as @${user} in ${team}` }
  if (!notBot) return [who, ...diagnoseScopes(answer.data)]
  const advice = 'Take the Bot User OAuth Token (xoxb-…), not the token of a person.'
  return [{ state: 'problem', text: `@${user} is a person, not the bot of an app`, advice }]
}

function diagnoseScopes(data: JsonRecord): DiagnosticResult[] {
  const scopes = recordAt(data, 'response_metadata')['scopes']
  if (!Array.isArray(scopes)) return []
  const missing = requiredScopes.filter(({ scope }) => !scopes.includes(scope))
  if (missing.length === 0) return [{ state: 'ok', text: 'it has every right it can use' }]
  return missing.map(({ scope, isRequired, effectWithout }) => ({
    state: isRequired ? 'problem' : 'note',
    text: `the right ${scope} is missing: ${effectWithout}`,
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
    const here = gatewayUrl === undefined ? '' : ` (here: ${gatewayUrl}${path})`
    return [
      {
        state: 'note',
        text: `events come over HTTP; whether Slack reaches us cannot be seen from here`,
        advice: `In ${appSettingsUrl}, Event Subscriptions, Interactivity and Slash Commands, the request URL must lead from the internet to ${path}${here}; Slack marks it Verified.`,
      },
    ]
  }
  const answer = await callWithAppToken('apps.connections.open')
  if (answer.ok) return [{ state: 'ok', text: 'Socket Mode is on and the app token opens connections' }]
  const { problem, error } = answer.failure
  const network = problem === 'temporary' || problem === 'rate-limited'
  return [
    {
      state: 'problem',
      text: `app_token: ${error}`,
      advice: network
        ? 'Check the network of this machine, then run `hermes doctor` again.'
        : `Open ${appSettingsUrl}, choose the app: Socket Mode must be enabled, and Basic Information → App-Level Tokens must hold one with connections:write. Copy it (xapp-…) into SLACK_APP_TOKEN.`,
    },
  ]
}
