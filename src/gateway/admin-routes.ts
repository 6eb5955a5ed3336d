/**
 * The gateway's own HTTP addresses, for the command line and for scripts: status, and what needs a person.
 */

import type { Engine } from '../engine/engine.ts'
import { dropEvent, listOpenEvents, retryEvent } from '../inbox/letters.ts'
import { brand } from '../lib/brand.ts'
import { HermesError } from '../lib/errors.ts'
import type { SessionKey } from '../message/ids.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { HttpRoute } from '../platforms/adapter.ts'
import { rows } from '../store/query.ts'
import type { Store } from '../store/store.ts'

export interface AdminRoutesDeps {
  readonly store: Store
  readonly engine: Engine
  readonly outbox: Pick<Outbox, 'list' | 'retry' | 'drop'>
  readonly clock: () => number
  /** Everything `hermes status` shows. */
  status(): unknown
  /** Begins to stop the daemon. */
  shutdown(): void
}

const listLimit = 200

export function adminRoutes(deps: AdminRoutesDeps): HttpRoute[] {
  const { store, engine, outbox, clock } = deps
  const get = (path: string, answer: () => Promise<unknown>): HttpRoute => ({
    method: 'GET',
    path,
    access: 'token',
    handle: async () => Response.json(await answer()),
  })
  const act = (path: string, action: (id: number) => Promise<boolean>): HttpRoute => ({
    method: 'POST',
    path,
    access: 'token',
    async handle(request) {
      const id = await idIn(request)
      if (!(await action(id))) throw new HermesError('http/not-found', `Nothing that waits has the number ${id}.`)
      return Response.json({ ok: true })
    },
  })
  return [
    get('/api/status', async () => deps.status()),
    get('/api/inbox', () => store.run(() => rows(listOpenEvents, { limit: listLimit }))),
    get('/api/outbox', () => outbox.list()),
    act('/api/inbox/retry', async (seq) => {
      const freed = await store.run(() => retryEvent(seq, clock()))
      if (freed === undefined) return false
      engine.wake(brand<SessionKey>(freed.session_key), freed.lane)
      return true
    }),
    act('/api/inbox/drop', (seq) => store.run(() => dropEvent(seq))),
    act('/api/outbox/retry', (id) => outbox.retry(id)),
    act('/api/outbox/drop', (id) => outbox.drop(id)),
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

async function idIn(request: Request): Promise<number> {
  const body: unknown = await request.json().catch((cause: unknown) => {
    throw new HermesError('http/bad-request', 'The body is not JSON.', { cause })
  })
  const id = typeof body === 'object' && body !== null && 'id' in body ? body.id : undefined
  if (typeof id === 'number' && Number.isSafeInteger(id)) return id
  throw new HermesError('http/bad-request', 'Expected {"id": <number>}.')
}
