/**
 * `hermes mcp login`: logs in at an MCP server with a browser (OAuth).
 */
import { homedir } from 'node:os'
import { createLoginStore } from '../agent/mcp/login-store.ts'
import { McpServerError } from '../agent/mcp/mcp-server-error.ts'
import { createGuardedFetch } from '../flows/mcp/guarded-fetch.ts'
import { readTls } from '../flows/mcp/mcp-tls.ts'
import { HermesError, messageOf } from '../lib/errors.ts'
import type { CliContext } from './kit/context.ts'
import { openQuestions } from './kit/questions.ts'
import { readSettings } from './kit/settings.ts'
import { findServer } from './shared/mcp-connection.ts'

/** Time for a person to log in. */
const maxLoginMs = 600_000

/** Throws `cli/not-found`, `cli/usage` for a server without a login, and `cli/failed`. */
export async function mcpLogin(context: CliContext, name: string): Promise<void> {
  const { input, output, home } = context
  const settings = await readSettings(context)
  const server = findServer(name, settings)
  const { url, auth } = server
  if (url === undefined || auth !== 'oauth')
    throw new HermesError('cli/usage', `The MCP server ${name} has no login.`, {
      hint: `Only a server with a \`url\` and \`auth: oauth\` has one. Set mcp_servers.${name}.auth in config.yaml.`,
    })
  const { login } = await import('../agent/mcp/login.ts')
  const isTerminal = input.isTTY === true && output.isTTY === true
  const questions = isTerminal ? openQuestions(input, output) : undefined
  const pasted = Promise.withResolvers<string>()
  context.exitsAfterCommand = true
  try {
    const userHome = context.environment['HOME'] ?? homedir()
    const tls = readTls({ server: name, settings: server, directory: home.root, userHome })
    const guarded = createGuardedFetch(url, { tls })
    await login({
      server: name,
      url,
      settings: server,
      store: createLoginStore(home.mcpTokens, name),
      fetch: guarded.fetch,
      checkAddress: guarded.check,
      showAddress(address) {
        output.write(`Open this address in a browser and log in:\n\n${address}\n\n`)
        const question = 'If the browser runs on another machine, paste the address here to which it returned: '
        questions?.ask(question).then(pasted.resolve, pasted.reject)
      },
      pasted: questions && pasted.promise,
      signal: AbortSignal.timeout(maxLoginMs),
    })
  } catch (error) {
    throw new HermesError('cli/failed', messageOf(error), {
      cause: error,
      ...(error instanceof McpServerError ? { hint: `Run \`hermes mcp login ${name}\` again.` } : {}),
    })
  } finally {
    questions?.close()
  }
  output.write(`\nYou are logged in at ${name}. \`hermes mcp test ${name}\` shows its tools.\n`)
}
