/**
 * A route as it is configured (contract hermes.md §5): in `platforms.webhook.routes`, or by `hermes webhook add`.
 */
import { z } from 'zod'
import { type Filter, filterProblem, filterSchema } from './filters.ts'

/** The secret of a route whose requests are not verified. Accepted while the gateway listens on this machine only. */
export const insecure = 'INSECURE_NO_AUTH'

const names = z.union([z.array(z.string().min(1)), z.string().transform(splitNames)])
const maxTargets = 20
const seconds = z.number().positive().max(86_400)

const coalesceSchema = z
  .looseObject({
    key: z.string().min(1),
    window_seconds: seconds.optional(),
    max_wait_seconds: seconds.optional(),
    window: seconds.optional(),
    max: seconds.optional(),
  })
  .transform(({ key, window_seconds, max_wait_seconds, window, max }) => ({
    key,
    windowMs: (window_seconds ?? window ?? 30) * 1_000,
    maxMs: (max_wait_seconds ?? max ?? 300) * 1_000,
  }))

const extraSchema = z.record(z.string(), z.union([z.string(), z.number()]).transform(String))

const routeSchema = z.looseObject({
  events: names.default([]),
  secret: z.string().optional(),
  prompt: z.string().max(100_000).default(''),
  filters: z.array(filterSchema).default([]),
  script: z.string().max(500).default(''),
  skills: names.default([]),
  toolsets: names.optional(),
  deliver: names.default([]),
  deliver_extra: extraSchema.default({}),
  deliver_only: z.boolean().default(false),
  cron_job: z.string().max(200).default(''),
  coalesce: coalesceSchema.optional(),
})

export interface Route {
  readonly name: string
  /** Event types; empty for all. */
  readonly events: readonly string[]
  readonly secret: string
  /** '' for the whole payload. */
  readonly prompt: string
  readonly filters: readonly Filter[]
  /** A file below `scripts/` of the home; '' for none. */
  readonly script: string
  readonly skills: readonly string[]
  readonly toolsets?: readonly string[] | undefined
  /** Platforms and targets; empty for `log`, which keeps the answer in its session. */
  readonly deliver: readonly string[]
  readonly deliverExtra: Readonly<Record<string, string>>
  readonly deliverOnly: boolean
  /** The id or name of a job; '' for none. */
  readonly cronJob: string
  readonly coalesce?: { readonly key: string; readonly windowMs: number; readonly maxMs: number } | undefined
}

export type RouteResult =
  | { readonly ok: true; readonly route: Route }
  | { readonly ok: false; readonly problem: string }

/** @param commonSecret of routes without a secret; '' for none */
export function parseRoute(name: string, value: unknown, commonSecret: string): RouteResult {
  if (!isRouteName(name)) return invalid('the name has other characters than lower-case letters, digits, - and _')
  const parsed = routeSchema.safeParse(value)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    return invalid(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}`)
  }
  const { data } = parsed
  const { deliver_extra: deliverExtra, deliver_only: deliverOnly, cron_job: cronJob } = data
  const { toolsets, coalesce, events, prompt, filters, script, skills, deliver } = data
  const secret = data.secret || commonSecret
  const route = {
    name,
    events,
    secret,
    prompt,
    filters,
    script,
    skills,
    deliver: deliver.filter((name) => name !== 'log' && name !== 'local'),
    deliverExtra,
    deliverOnly,
    cronJob,
  }
  const problem = routeProblem(route, coalesce !== undefined)
  if (problem !== undefined) return invalid(problem)
  return { ok: true, route: { ...route, toolsets, coalesce } }
}

export function isRouteName(name: string): boolean {
  return /^[a-z0-9][a-z0-9_-]{0,63}$/.test(name)
}

function routeProblem(route: Omit<Route, 'toolsets' | 'coalesce'>, isCoalesced: boolean): string | undefined {
  const { secret, deliver, deliverExtra, deliverOnly, cronJob, filters } = route
  if (secret === '') return 'it has no secret: set `secret` of the route or of platforms.webhook'
  if (secret !== insecure && secret.length < 8) return 'its secret has fewer than 8 characters'
  if (deliver.includes('github_comment'))
    return 'deliver: github_comment is not supported; name a chat, for example telegram'
  if (deliver.length > maxTargets) return `deliver: at most ${maxTargets} chats`
  if ((deliver.length > 1 || deliver.includes('all')) && Object.keys(deliverExtra).length > 0)
    return 'deliver_extra is for one chat; write several ones as telegram:<chat_id>:<thread_id>'
  if (deliverOnly && deliver.length === 0) return 'deliver_only needs `deliver`: the chat that gets the message'
  if (deliverOnly && cronJob !== '') return 'deliver_only and cron_job exclude each other'
  if (isCoalesced && (deliverOnly || cronJob !== '')) return 'coalesce is for routes whose events the agent works on'
  return filters.map(filterProblem).find((problem) => problem !== undefined)
}

function invalid(problem: string): RouteResult {
  return { ok: false, problem }
}

function splitNames(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}
