/**
 * The routes of the configuration, and those of `hermes webhook add` in `webhook_subscriptions.json`. That file is read again when
 * it has changed. A route of the configuration wins over one of its name there.
 */
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { asRecord, isRecord, type Logger, messageOf, type PlatformContext, systemCode } from '#sdk'
import { insecure, parseRoute, type Route } from './route.ts'

export const subscriptionsFile = 'webhook_subscriptions.json'

export interface Routes {
  find(name: string): Promise<Route | undefined>
  /** One text for each route that cannot be used; of both sources. */
  problems(): Promise<readonly string[]>
}

interface ReadRoutes {
  readonly routes: ReadonlyMap<string, Route>
  readonly problems: readonly string[]
}

const maxFileBytes = 4_194_304
const none: ReadRoutes = { routes: new Map(), problems: [] }

/**
 * @param context `home` is '' for the routes of the configuration alone
 * @param isLocal whether routes without a secret are accepted
 */
export function createRoutes(
  { options, home, log }: Pick<PlatformContext, 'options' | 'home'> & { readonly log: Pick<Logger, 'warn'> },
  isLocal: () => boolean,
): Routes {
  const extra = asRecord(options['extra'])
  const secret = textOf(extra['secret'] ?? options['secret'])
  const configured = readRoutes({ ...asRecord(options['routes']), ...asRecord(extra['routes']) }, secret, isLocal)
  const path = home === '' ? '' : join(home, subscriptionsFile)
  let version = ''
  let subscribed = none

  async function refresh(): Promise<void> {
    const current = await versionOf(path)
    if (current === version) return
    subscribed = await readFileRoutes(path, current, secret, isLocal)
    version = current
    for (const problem of subscribed.problems)
      log.warn(
        { event: 'webhook.route_unusable', reason: problem },
        'a route of webhook_subscriptions.json is not used',
      )
  }

  return {
    async find(name) {
      const route = configured.routes.get(name)
      if (route !== undefined) return route
      await refresh()
      return subscribed.routes.get(name)
    },
    async problems() {
      await refresh()
      return [...configured.problems, ...subscribed.problems]
    },
  }
}

function readRoutes(entries: Readonly<Record<string, unknown>>, secret: string, isLocal: () => boolean): ReadRoutes {
  const routes = new Map<string, Route>()
  const problems: string[] = []
  for (const [name, entry] of Object.entries(entries)) {
    const result = parseRoute(name, entry, secret)
    if (!result.ok) problems.push(`route ${JSON.stringify(name)}: ${result.problem}`)
    else if (result.route.secret === insecure && !isLocal())
      problems.push(`route ${JSON.stringify(name)}: ${insecure} is for a gateway that listens on this machine only`)
    else routes.set(name, result.route)
  }
  return { routes, problems }
}

/** '' when there is no file. */
async function versionOf(path: string): Promise<string> {
  if (path === '') return ''
  try {
    const { mtimeMs, size, ino } = await stat(path)
    return `${mtimeMs} ${size} ${ino}`
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return ''
    throw error
  }
}

async function readFileRoutes(
  path: string,
  version: string,
  secret: string,
  isLocal: () => boolean,
): Promise<ReadRoutes> {
  if (version === '') return none
  try {
    const text = await readFile(path, 'utf8')
    if (text.length > maxFileBytes) return { ...none, problems: [`${subscriptionsFile} is too large`] }
    const value: unknown = JSON.parse(text)
    if (!isRecord(value)) return { ...none, problems: [`${subscriptionsFile} is not a mapping of routes`] }
    return readRoutes(isRecord(value['subscriptions']) ? value['subscriptions'] : value, secret, isLocal)
  } catch (error) {
    return { ...none, problems: [`${subscriptionsFile} cannot be read: ${messageOf(error)}`] }
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
