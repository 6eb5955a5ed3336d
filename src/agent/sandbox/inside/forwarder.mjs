/**
 * Runs a command in a sandbox without network, and offers it the proxy of the gateway at 127.0.0.1. The arguments are the
 * port and the command line. Ends with the command, with its exit code.
 */
import { spawn } from 'node:child_process'
import { connect, createServer } from 'node:net'

const [port = '', program = '', ...args] = process.argv.slice(2)
const cwd = process.cwd()
// The name of the socket alone: the path of the directory may be longer than an address can be.
process.chdir(import.meta.dirname)

const server = createServer({ allowHalfOpen: true }, (client) => {
  const upstream = connect({ path: 'proxy.sock', allowHalfOpen: true })
  const end = () => {
    client.destroy()
    upstream.destroy()
  }
  client.on('error', end).on('close', end)
  upstream.on('error', end).on('close', end)
  client.pipe(upstream).pipe(client)
})

server.listen(Number(port), '127.0.0.1', () => {
  const child = spawn(program, args, { cwd, stdio: 'inherit' })
  // They are sent to the whole process group, and the command may need time to clean up.
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(name, () => undefined)
  child.on('error', (error) => {
    process.stderr.write(`${error.message}\n`)
    process.exit(127)
  })
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
})
