/**
 * The routes of webhooks: those of config.yaml and those of `webhook_subscriptions.json`, why one cannot be used, and a signed test.
 */
import { createHmac, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { HermesError } from '../../lib/errors.ts'
import { readTextIfExists } from '../../lib/files.ts'
import type { HomeLayout } from '../../lib/home.ts'
import { asRecord, asString, isRecord, type JsonObject, parseJson } from '../../lib/json.ts'
import { platformAccounts } from '../../platforms/accounts.ts'
import { loadPlatform } from '../../platforms/registry.ts'
import { parseTarget } from '../delivery/parse-target.ts'
import type { PlatformSettings } from './connect-platform.ts'

export interface WebhookRoute {
  /** The name of the file. */
  readonly source: string
  /** With its secret. */
  readonly route: JsonObject
}

const subscriptionsName = 'webhook_subscriptions.json'

export function subscriptionsFile({ root }: Pick<HomeLayout, 'root'>): string {
  return join(root, subscriptionsName)
}

/** The section of the platform, as far as it is a mapping. */
export function webhookSection({ config }: Pick<PlatformSettings, 'config'>): JsonObject {
  return asRecord(asRecord(config.current().platforms)['webhook'])
}

/** By name, those of config.yaml first. Throws `cli/usage` for a file that is no mapping. */
export function readWebhookRoutes(
  home: Pick<HomeLayout, 'root'>,
  settings: Pick<PlatformSettings, 'config'>,
): ReadonlyMap<string, WebhookRoute> {
  const section = webhookSection(settings)
  const common = asString(asRecord(section['extra'])['secret']) || asString(section['secret'])
  const routes = new Map<string, WebhookRoute>()
  const add = (entries: JsonObject, source: string) => {
    for (const [name, value] of Object.entries(entries)) {
      const route = asRecord(value)
      if (!routes.has(name))
        routes.set(name, { source, route: { ...route, secret: asString(route['secret']) || common } })
    }
  }
  add(configuredRoutes(section), 'config.yaml')
  add(readSubscriptions(home), subscriptionsName)
  return routes
}

export function configuredRoutes(section: JsonObject): JsonObject {
  return { ...asRecord(section['routes']), ...asRecord(asRecord(section['extra'])['routes']) }
}

/** Throws `cli/usage` for a file that is no mapping. */
export function readSubscriptions(home: Pick<HomeLayout, 'root'>): JsonObject {
  const path = subscriptionsFile(home)
  const text = readTextIfExists(path)
  if (text === undefined) return {}
  const value = parseJson(text)
  if (!isRecord(value)) throw new HermesError('cli/usage', `${path} is not a mapping of routes; correct or move it`)
  return isRecord(value['subscriptions']) ? value['subscriptions'] : value
}

/** Why the gateway would not use the route, or not deliver what it leads to. */
export async function findRouteProblems(
  { config, catalogue }: PlatformSettings,
  name: string,
  route: JsonObject,
): Promise<readonly string[]> {
  const { platforms, gateway, roles } = config.current()
  const accounts = platformAccounts(catalogue.platforms, { platforms, gateway, roles })
  const account = accounts.find(({ platform }) => platform.name === 'webhook')
  if (account === undefined) return []
  const { diagnose } = await loadPlatform(account.platform)
  const options = { routes: { [name]: route } }
  const results = (await diagnose?.({ account: account.account, options }, AbortSignal.timeout(10_000))) ?? []
  const problems = results.filter(({ state }) => state === 'problem').map(({ text }) => text)
  for (const target of [route['deliver'] ?? 'log'].flat().flatMap((names) => splitNames(asString(names)))) {
    if (['log', 'all'].includes(target)) continue
    const parsed = parseTarget(target, accounts)
    if ('problem' in parsed) problems.push(`deliver: ${parsed.problem}`)
  }
  return problems
}

/** Sends a signed event to the running gateway. @param payload JSON; undefined for a sample */
export async function sendTestEvent(
  gatewayUrl: string,
  name: string,
  route: JsonObject,
  payload: string | undefined,
): Promise<{ readonly status: number; readonly text: string }> {
  const body = payload ?? JSON.stringify({ test: true, message: 'Hello from hermes webhook test' })
  const events = route['events']
  const event = Array.isArray(events) && typeof events[0] === 'string' ? events[0] : 'test'
  const signature = createHmac('sha256', asString(route['secret'])).update(body).digest('hex')
  const response = await fetch(`${gatewayUrl}/webhooks/${name}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-github-event': event,
      'x-github-delivery': `test-${randomUUID()}`,
      'x-hub-signature-256': `sha256=${signature}`,
    },
    body,
  })
  return { status: response.status, text: (await response.text()).slice(0, 1_000) }
}

export function splitNames(text = ''): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}
