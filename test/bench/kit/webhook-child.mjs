/**
 * The baseline of a webhook: the same HTTP server, the same HMAC, and one commit to the disk before the answer.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import Fastify from 'fastify'
import { z } from 'zod'
import { handleRequest } from './child-requests.ts'

const [path = '', secret = ''] = process.argv.slice(2)
const db = new DatabaseSync(path)
db.exec('pragma journal_mode = wal; pragma synchronous = full; create table events (id text primary key, body text)')
const insert = db.prepare('insert or ignore into events (id, body) values (?, ?)')
const server = Fastify()
server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
server.post('/webhooks/ci', async (request, reply) => {
  /** @type {Buffer} */
  const body = Buffer.from(/** @type {Buffer} */ (request.body))
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`)
  const received = Buffer.from(String(request.headers['x-hub-signature-256']))
  if (received.length !== expected.length || !timingSafeEqual(received, expected)) return reply.code(401).send()
  insert.run(String(request.headers['x-github-delivery']), body.toString())
  return reply.code(202).send({ status: 'accepted' })
})
const url = await server.listen({ host: '127.0.0.1', port: 0 })
handleRequest('address', z.looseObject({}), () => url)
process.send?.('up')
