/**
 * The `hermes` of commands in the sandbox. It sends its arguments to the gateway, with the token of the turn that runs the
 * command, and prints the answer.
 */
import { connect } from 'node:net'

// The name of the socket alone: the path of the directory may be longer than an address can be.
process.chdir(import.meta.dirname)

const request = { token: process.env['HERMES_TURN_TOKEN'] ?? '', args: process.argv.slice(2) }
// A sandbox without Unix sockets has the number of a port instead.
const port = process.env['HERMES_TURN_PORT']
const place = port === undefined ? { path: 'hermes.sock' } : { host: '127.0.0.1', port: Number(port) }
const socket = connect({ ...place, allowHalfOpen: true })
socket.on('error', (error) => {
  process.stderr.write(`hermes: the gateway does not answer here (${error.message})\n`)
  process.exit(1)
})
socket.end(JSON.stringify(request))
let text = ''
socket.setEncoding('utf8')
for await (const piece of socket) text += piece
try {
  const { output, errors, exitCode } = JSON.parse(text)
  process.stdout.write(output)
  process.stderr.write(errors)
  process.exitCode = exitCode
} catch {
  process.stderr.write('hermes: the gateway closed the connection without an answer\n')
  process.exitCode = 1
}
