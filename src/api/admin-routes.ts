/**
 * The admin API for the command line and for scripts: status, dead letters, remembered approvals, pairing and
 * shutdown.
 */

import type { z } from 'zod'
import type { Engine } from '../engine/engine.ts'
import type { PairingAdmin } from '../flows/access/pairing-admin.ts'
import { dropDeadEvent, listUnfinishedEvents, retryDeadEvent } from '../inbox/dead-letters.ts'
import { addDenial } from '../inbox/trace.ts'
import { HermesError } from '../lib/errors.ts'
import { brand } from '../lib/ids.ts'
import type { SessionKey } from '../message/ids.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { HttpRoute, PlatformMenu } from '../platforms/adapter.ts'
import { rows } from '../store/query.ts'
import type { Store } from '../store/store.ts'
import type { RememberedDeps } from './approval-routes.ts'

export interface AdminRoutesDeps {
  readonly store: Store
  readonly engine: Engine
  readonly outbox: Pick<Outbox, 'list' | 'retry' | 'drop'>
  readonly clock: () => number
  readonly approvals: Omit<RememberedDeps, 'store'>
  /** The report of `hermes status`. */
  status(): object
  /** Loads what an owner does about pairing. */
  pairing(): Promise<PairingAdmin>
  /** Sends a message for a script and resolves with the response. Rejects `http/bad-request`, `delivery/...` or `store/...`. */
  send(body: unknown, signal: AbortSignal): Promise<unknown>
  /** The chats for messages that belong to no other chat. Rejects `store/...`. */
  homeChannels(): Promise<readonly unknown[]>
  /** Handles a request for scheduled jobs. Rejects `http/bad-request` and `store/...`. */
  jobs(body: unknown): Promise<unknown>
  /** Answers a request of `apiPaths`; its code is loaded with the first one. */
  api(request: Request): Promise<Response>
  readonly menu: PlatformMenu
  readonly pause: { pause(reason: string): Promise<void>; resume(): Promise<boolean> }
  /** Starts the stop of the daemon. */
  shutdown(): void
  /** Announces and starts a restart. Rejects `http/bad-request` where there is no daemon, or `store/...`. */
  restart(): Promise<void>
}

const maxListRows = 200

/** `flows/api` answers them. */
const apiPaths = [
  ['GET', '/api/sessions'],
  ['GET', '/api/sessions/{session_id}'],
  ['PATCH', '/api/sessions/{session_id}'],
  ['DELETE', '/api/sessions/{session_id}'],
  ['POST', '/api/sessions/{session_id}/fork'],
  ['GET', '/api/sessions/{session_id}/trajectory'],
  ['GET', '/api/sessions/{session_id}/messages'],
  ['GET', '/api/sessions/{session_id}/messages/{message_id}'],
  ['GET', '/api/sessions/{session_id}/messages/{message_id}/attachments/{number}'],
  ['GET', '/api/approvals/pending'],
  ['POST', '/api/approvals/decide'],
  ['GET', '/api/channels'],
  ['GET', '/api/workspaces/{platform}/{chat_id}'],
  ['POST', '/api/workspaces/{platform}/{chat_id}'],
  ['GET', '/api/openapi.json'],
] as const

export function adminRoutes(deps: AdminRoutesDeps): HttpRoute[] {
  const { store, engine, outbox, clock } = deps
  const get = (path: string, read: () => Promise<unknown>): HttpRoute => ({
    method: 'GET',
    path,
    access: 'token',
    handle: async () => Response.json(await read()),
  })
  const act = (path: string, action: (id: number) => Promise<boolean>): HttpRoute => ({
    method: 'POST',
    path,
    access: 'token',
    async handle(request) {
      const { id } = await parse(request, (shapes) => shapes.rowBody)
      if (!(await action(id))) throw new HermesError('http/not-found', `There is nothing with the number ${id}.`)
      return Response.json({ ok: true })
    },
  })
  return [
    get('/api/status', async () => ({ ...deps.status(), homeChannels: await deps.homeChannels() })),
    get('/api/commands', async () => {
      await deps.menu.complete()
      return deps.menu.commands().map(({ name, description, argsHint }) => ({ name, description, argsHint }))
    }),
    get('/api/inbox', () => store.run(() => rows(listUnfinishedEvents, { limit: maxListRows }))),
    get('/api/outbox', () => outbox.list()),
    act('/api/inbox/retry', async (seq) => {
      const retried = await store.run(() => retryDeadEvent(seq, clock()))
      if (retried === undefined) return false
      engine.wake(brand<SessionKey>(retried.session_key), retried.lane)
      return true
    }),
    act('/api/inbox/drop', (seq) => store.run(() => dropDeadEvent(seq))),
    act('/api/outbox/retry', (id) => outbox.retry(id)),
    act('/api/outbox/drop', (id) => outbox.drop(id)),
    ...approvalRoutes({ store, ...deps.approvals }, get),
    ...apiPaths.map(([method, path]): HttpRoute => ({ method, path, access: 'token', handle: deps.api })),
    ...pairingRoutes(deps, get),
    {
      method: 'POST',
      path: '/api/send',
      access: 'token',
      async handle(request) {
        return Response.json({ results: await deps.send(await readBody(request), request.signal) })
      },
    },
    {
      method: 'GET',
      path: '/api/jobs',
      access: 'token',
      async handle(request) {
        const { pageOfJobs } = await import('./jobs.ts')
        return Response.json(pageOfJobs(await deps.jobs({ action: 'list' }), new URL(request.url).searchParams))
      },
    },
    {
      method: 'POST',
      path: '/api/jobs',
      access: 'token',
      async handle(request) {
        return Response.json(await deps.jobs(await readBody(request)))
      },
    },
    {
      method: 'POST',
      path: '/api/pause',
      access: 'token',
      async handle(request) {
        const asked = await parse(request, (shapes) => shapes.pauseBody)
        if (asked.off === true) return Response.json({ ok: await deps.pause.resume() })
        await deps.pause.pause(asked.reason)
        return Response.json({ ok: true })
      },
    },
    {
      method: 'POST',
      path: '/api/restart',
      access: 'token',
      async handle() {
        await deps.restart()
        return Response.json({ ok: true }, { status: 202 })
      },
    },
    {
      method: 'POST',
      path: '/api/shutdown',
      access: 'token',
      handle() {
        deps.shutdown()
        return Response.json({ ok: true }, { status: 202 })
      },
    },
  ]
}

function approvalRoutes(
  deps: RememberedDeps,
  get: (path: string, read: () => Promise<unknown>) => HttpRoute,
): HttpRoute[] {
  const load = () => import('./approval-routes.ts')
  return [
    get('/api/approvals', async () => (await load()).listRemembered(deps)),
    {
      method: 'POST',
      path: '/api/approvals/revoke',
      access: 'token',
      async handle(request) {
        const { id } = await parse(request, (shapes) => shapes.revokeBody)
        if (!(await (await load()).revokeRemembered(deps, id)))
          throw new HermesError('http/not-found', `Nothing is remembered as ${JSON.stringify(id)}.`)
        return Response.json({ ok: true })
      },
    },
  ]
}

function pairingRoutes(
  { pairing: load, store, clock }: AdminRoutesDeps,
  get: (path: string, read: () => Promise<unknown>) => HttpRoute,
): HttpRoute[] {
  const act = <Shape extends z.ZodType>(
    path: string,
    shape: (shapes: Shapes) => Shape,
    action: (admin: PairingAdmin, body: z.output<Shape>) => unknown,
  ): HttpRoute => ({
    method: 'POST',
    path,
    access: 'token',
    async handle(request) {
      const body = await parse(request, shape)
      return Response.json(await action(await load(), body))
    },
  })
  return [
    get('/api/pairing', async () => (await load()).list()),
    act(
      '/api/pairing/approve',
      (shapes) => shapes.pairingApproveBody,
      (admin, { platform, code }) => admin.approve(platform, code),
    ),
    act(
      '/api/pairing/revoke',
      (shapes) => shapes.pairingRevokeBody,
      (admin, { platform, user_id }) => {
        admin.revoke(platform, user_id)
        return { ok: true }
      },
    ),
    act(
      '/api/pairing/deny',
      (shapes) => shapes.pairingDenyBody,
      async (admin, { platform, person, via }) => {
        const denied = admin.deny(platform, person)
        const { denialEntry } = await import('../flows/access/pairing-admin.ts')
        await store.run(() => addDenial(denialEntry(denied, via), clock()))
        return { platform: denied.platform, user_id: denied.userId, user_name: denied.userName }
      },
    ),
    act(
      '/api/pairing/clear',
      (shapes) => shapes.pairingClearBody,
      (admin, { platform }) => ({ cleared: admin.clearPending(platform) }),
    ),
  ]
}

type Shapes = typeof import('./management-shapes.ts')

/** The body in a shape of the OpenAPI document. Rejects `http/bad-request`. */
async function parse<Shape extends z.ZodType>(
  request: Request,
  shape: (shapes: Shapes) => Shape,
): Promise<z.output<Shape>> {
  const [{ parseInput }, shapes] = await Promise.all([
    import('../lib/parse-input.ts'),
    import('./management-shapes.ts'),
  ])
  return parseInput(shape(shapes), await readBody(request))
}

function readBody(request: Request): Promise<unknown> {
  return request.json().catch((cause: unknown) => {
    throw new HermesError('http/bad-request', 'The body is not JSON.', { cause })
  })
}
