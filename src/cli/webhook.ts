/**
 * `hermes webhook`: the routes of `webhook_subscriptions.json`, which a running gateway reads again when it has changed.
 */
import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { parseTarget } from '../flows/delivery/parse-target.ts'
import { HermesError } from '../lib/errors.ts'
import { readTextIfExists, writeFileAtomic } from '../lib/files.ts'
import { asRecord, asString, isRecord, type JsonObject, parseJson } from '../lib/json.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import { platformAccounts } from '../platforms/accounts.ts'
import { loadPlatform } from '../platforms/registry.ts'
import type { CliContext } from './kit/context.ts'
import { findRunningDaemon } from './kit/daemon.ts'
import { createDisplay } from './kit/display.ts'
import { readSettings } from './kit/settings.ts'

export interface WebhookRequest {
  readonly events?: string
  readonly prompt?: string
  readonly description?: string
  readonly skills?: string
  readonly deliver?: string
  readonly deliverChatId?: string
  readonly deliverOnly?: boolean
  readonly cronJob?: string
  readonly script?: string
  readonly secret?: string
  readonly json?: boolean
}

const fileName = 'webhook_subscriptions.json'

/** Creates or replaces a route. Throws `cli/usage`. */
export async function webhookAdd(
  context: CliContext,
  name: string,
  { json, ...request }: WebhookRequest,
): Promise<void> {
  if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(name))
    throw new HermesError('cli/usage', `${JSON.stringify(name)}: expected lower-case letters, digits, - and _`)
  const { deliverOnly = false, deliver = 'log' } = request
  if (deliverOnly && deliver === 'log') throw new HermesError('cli/usage', '--deliver-only needs --deliver')
  if (deliverOnly && request.cronJob !== undefined)
    throw new HermesError('cli/usage', '--deliver-only and --cron-job exclude each other')
  const { platforms } = (await readSettings(context)).config.current()
  const section = asRecord(asRecord(platforms)['webhook'])
  if (Object.hasOwn(routesOf(section), name))
    throw new HermesError('cli/usage', `the route ${name} is in config.yaml; change it there`)
  if (request.cronJob !== undefined) await assertJobExists(context, request.cronJob)
  const subscriptions = readSubscriptions(context)
  const secret = request.secret ?? randomBytes(32).toString('base64url')
  const route = {
    description: request.description ?? '',
    events: splitNames(request.events),
    secret,
    prompt: request.prompt ?? '',
    skills: splitNames(request.skills),
    deliver,
    ...(request.deliverChatId === undefined ? {} : { deliver_extra: { chat_id: request.deliverChatId } }),
    ...(deliverOnly ? { deliver_only: true } : {}),
    cron_job: request.cronJob,
    script: request.script,
    created_at: new Date().toISOString(),
  }
  const [problem] = await findProblems(context, name, route)
  if (problem !== undefined) throw new HermesError('cli/usage', problem)
  writeFileAtomic(pathOf(context), `${JSON.stringify({ ...subscriptions, [name]: route }, null, 2)}\n`, 0o600)
  const url = `${(await daemonUrl(context)) ?? 'http://127.0.0.1:8642'}/webhooks/${name}`
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json({ name, url, secret })
  display.line(`added: ${name}`)
  display.line(`  URL:    ${url}`)
  display.line(`  Secret: ${secret}`)
  if (section['enabled'] !== true)
    display.line('Webhooks are off: set platforms.webhook.enabled and restart the gateway.')
}

/** Lists all routes, those of config.yaml first. Secrets are not shown. */
export async function webhookList(context: CliContext, { json }: Pick<WebhookRequest, 'json'>): Promise<void> {
  const listed = []
  for (const [name, { source, route }] of await readRoutes(context))
    listed.push({ name, source, route, problems: await findProblems(context, name, route) })
  const display = createDisplay(context.output, context.environment)
  if (json)
    return display.json(
      listed.map(({ name, source, route: { secret: _secret, ...rest }, problems }) => ({
        name,
        source,
        ...rest,
        problems,
      })),
    )
  if (listed.length === 0) display.line('There are no routes. `hermes webhook add <name>` makes one.')
  for (const { name, source, route, problems } of listed)
    display.line(
      toSingleLine([describe(name, source, route), ...problems.map((problem) => `NOT USABLE: ${problem}`)].join(' · ')),
    )
}

/** Throws `cli/usage` when there is no such route in the file. */
export async function webhookRemove(context: CliContext, name: string): Promise<void> {
  const { [name]: removed, ...rest } = readSubscriptions(context)
  if (removed === undefined)
    throw new HermesError('cli/usage', `there is no route ${JSON.stringify(name)} in ${fileName}`)
  writeFileAtomic(pathOf(context), `${JSON.stringify(rest, null, 2)}\n`, 0o600)
  createDisplay(context.output, context.environment).line(`removed: ${name}`)
}

/** Sends a signed event to the running gateway. Exit code 1 when it was not accepted. Throws `cli/no-daemon`. */
export async function webhookTest(
  context: CliContext,
  name: string,
  { payload }: { readonly payload?: string | undefined },
): Promise<void> {
  const route = (await readRoutes(context)).get(name)
  if (route === undefined) throw new HermesError('cli/usage', `there is no route ${JSON.stringify(name)}`)
  const url = await daemonUrl(context)
  if (url === undefined) throw new HermesError('cli/no-daemon')
  const body = payload ?? JSON.stringify({ test: true, message: 'Hello from hermes webhook test' })
  const events = route.route['events']
  const event = Array.isArray(events) && typeof events[0] === 'string' ? events[0] : 'test'
  const signature = createHmac('sha256', asString(route.route['secret'])).update(body).digest('hex')
  const response = await fetch(`${url}/webhooks/${name}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-github-event': event,
      'x-github-delivery': `test-${randomUUID()}`,
      'x-hub-signature-256': `sha256=${signature}`,
    },
    body,
  })
  const display = createDisplay(context.output, context.environment)
  display.line(toSingleLine(`${response.status} ${(await response.text()).slice(0, 1_000)}`))
  if (response.ok) return
  context.exitCode = 1
  for (const problem of await findProblems(context, name, route.route)) display.line(toSingleLine(problem))
  display.line(`The log of the gateway in ${context.home.logs} has the reason.`)
}

/** Why the gateway would not use the route, or not deliver what it leads to. */
async function findProblems(context: CliContext, name: string, route: JsonObject): Promise<readonly string[]> {
  const { config, catalogue } = await readSettings(context)
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

/** Throws `cli/not-found`. */
async function assertJobExists(context: CliContext, wanted: string): Promise<void> {
  const { askDaemon } = await import('./shared/cron-request.ts')
  const jobs =
    (await askDaemon(context, { action: 'list' })) ??
    (await (await import('./shared/cron-stored.ts')).listStoredJobs(context))
  if (jobs.some(({ id, name }) => id === wanted || name.toLowerCase() === wanted.toLowerCase())) return
  throw new HermesError('cli/not-found', `There is no scheduled job ${JSON.stringify(wanted)}.`, {
    hint: '`hermes cron list` shows the jobs, and `hermes cron create` makes one.',
  })
}

type ListedRoutes = ReadonlyMap<string, { readonly source: string; readonly route: JsonObject }>

async function readRoutes(context: CliContext): Promise<ListedRoutes> {
  const { platforms } = (await readSettings(context)).config.current()
  const section = asRecord(asRecord(platforms)['webhook'])
  const common = asString(asRecord(section['extra'])['secret']) || asString(section['secret'])
  const routes = new Map<string, { source: string; route: JsonObject }>()
  const add = (entries: JsonObject, source: string) => {
    for (const [name, value] of Object.entries(entries))
      if (!routes.has(name)) routes.set(name, { source, route: withSecret(asRecord(value), common) })
  }
  add(routesOf(section), 'config.yaml')
  add(readSubscriptions(context), fileName)
  return routes
}

function withSecret(route: JsonObject, common: string): JsonObject {
  return { ...route, secret: asString(route['secret']) || common }
}

function routesOf(section: JsonObject): JsonObject {
  return { ...asRecord(section['routes']), ...asRecord(asRecord(section['extra'])['routes']) }
}

function readSubscriptions(context: CliContext): JsonObject {
  const path = pathOf(context)
  const text = readTextIfExists(path)
  if (text === undefined) return {}
  const value = parseJson(text)
  if (!isRecord(value)) throw new HermesError('cli/usage', `${path} is not a mapping of routes; correct or move it`)
  return isRecord(value['subscriptions']) ? value['subscriptions'] : value
}

async function daemonUrl(context: CliContext): Promise<string | undefined> {
  const { token } = await readSettings(context)
  return (await findRunningDaemon({ home: context.home, token }))?.url
}

function describe(name: string, source: string, route: JsonObject): string {
  const events =
    Array.isArray(route['events']) && route['events'].length > 0 ? route['events'].join(', ') : 'all events'
  const job = asString(route['cron_job'])
  const to = job === '' ? `to ${[route['deliver'] ?? 'log'].flat().join(', ') || 'log'}` : `runs the job ${job}`
  return [name, events, to, source, asString(route['description'])].filter((part) => part !== '').join(' · ')
}

function pathOf({ home }: CliContext): string {
  return join(home.root, fileName)
}

function splitNames(text = ''): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}
