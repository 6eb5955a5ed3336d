/**
 * Checks an account for `hermes doctor`: its tokens, its scopes and how events arrive. Changes nothing at Slack; the unused
 * socket URL of `apps.connections.open` expires.
 */
import { type DiagnosticContext, type DiagnosticResult, HermesError, type Invitation } from '#sdk'
import { type CallResult, createApi } from './connection/api.ts'
import { requiredScopes } from './connection/scopes.ts'
import { createSilentApiCall } from './connection/transport.ts'
import { webhookPath } from './connection/webhook.ts'
import { type JsonRecord, recordAt, textAt } from './inbound/payload.ts'
import { parseOptions, type SlackOptions } from './options.ts'

const appSettingsUrl = 'https://api.slack.com/apps'

export async function diagnose(context: DiagnosticContext, signal: AbortSignal): Promise<DiagnosticResult[]> {
  const options = parseOptions(context.options, context.account)
  const { transport } = options
  const checks = await Promise.all([
    diagnoseToken(options, signal),
    transport.mode === 'http' ? [diagnoseRoute(context)] : diagnoseSocket(options, transport.appToken, signal),
  ])
  return checks.flat()
}

/** Rejects when Slack does not accept the token. */
export async function invite(
  { options: values, account }: DiagnosticContext,
  signal: AbortSignal,
): Promise<Invitation> {
  const options = parseOptions(values, account)
  const result = await callOnce(options.botToken, options, 'auth.test', signal)
  if (!result.ok) throw new HermesError('platform/connect-failed', `(slack: ${result.failure.error})`)
  const { transport } = options
  // The app token names the app.
  const app = transport.mode === 'socket' ? /^xapp-\d+-(A[A-Z0-9]+)-/.exec(transport.appToken)?.[1] : undefined
  const target = app === undefined ? { channel: textAt(result.data, 'user_id') ?? '' } : { app }
  const query = new URLSearchParams({ team: textAt(result.data, 'team_id') ?? '', ...target })
  return {
    name: `@${textAt(result.data, 'user') ?? 'bot'}`,
    url: `https://slack.com/app_redirect?${query}`,
    advice: 'Open the app in Slack, choose Messages and say hello. In a channel: /invite the app, then mention it.',
  }
}

async function callOnce(
  token: string,
  { apiUrl }: SlackOptions,
  method: string,
  signal: AbortSignal,
): Promise<CallResult> {
  return await createApi(createSilentApiCall(token, apiUrl), Date.now, signal)(method, {}, signal)
}

async function diagnoseToken(options: SlackOptions, signal: AbortSignal): Promise<DiagnosticResult[]> {
  const result = await callOnce(options.botToken, options, 'auth.test', signal)
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
        link: isInvalid ? appSettingsUrl : undefined,
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
    link: appSettingsUrl,
  }))
}

function diagnoseRoute({ account, gatewayUrl }: DiagnosticContext): DiagnosticResult {
  const path = webhookPath(account)
  const localUrl = gatewayUrl === undefined ? '' : ` (here: ${gatewayUrl}${path})`
  return {
    state: 'note',
    text: 'events arrive over HTTP; this check cannot tell whether Slack reaches the gateway',
    advice: `In ${appSettingsUrl}, Event Subscriptions, Interactivity and Slash Commands, the request URL must be reachable from the internet and lead to ${path}${localUrl}. Slack then marks it as Verified.`,
  }
}

async function diagnoseSocket(
  options: SlackOptions,
  appToken: string,
  signal: AbortSignal,
): Promise<DiagnosticResult[]> {
  const result = await callOnce(appToken, options, 'apps.connections.open', signal)
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
      link: isNetworkError ? undefined : appSettingsUrl,
    },
  ]
}
