/**
 * The baseline of a start: the same HTTP server with one route.
 */
import Fastify from 'fastify'

const server = Fastify()
server.get('/', async () => 'hello')
await server.listen({ host: '127.0.0.1', port: 0 })
process.stderr.write('ready\n')
