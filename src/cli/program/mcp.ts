/**
 * Defines the commands for MCP servers.
 */
import type { Command } from 'commander'
import type { CliContext } from '../kit/context.ts'
import { createGroup } from '../kit/help.ts'
import { json, run } from './options.ts'

export function addMcpCommands(root: Command, context: CliContext): void {
  const mcp = createGroup(root, 'mcp', 'programs and services whose tools the agent uses')
  mcp
    .command('list')
    .description('list the MCP servers with their state and the number of their tools')
    .option(...json)
    .action(run(context, async () => (await import('../mcp.ts')).mcpList))
  mcp
    .command('add <name> [program...]')
    .summary('add an MCP server to config.yaml')
    .description(
      'Adds an MCP server to config.yaml and shows its tools: a program (`hermes mcp add files -- npx -y some-server /data`), or an address (`--url`).',
    )
    .option('--url <address>', 'address of a server on the network')
    .option('--env <variable>', 'variable of the program, NAME=value, or NAME for one of .env; repeatable', collect, [])
    .option('--header <header>', 'header of each request, "Name: value"; repeatable', collect, [])
    .option('--oauth', 'the server asks for a login', false)
    .option('--no-test', 'do not connect')
    .action(run(context, async () => (await import('../mcp.ts')).mcpAdd))
  mcp
    .command('remove <name>')
    .description('remove an MCP server from config.yaml, with its login')
    .action(run(context, async () => (await import('../mcp.ts')).mcpRemove))
  mcp
    .command('test <name>')
    .description('connect with an MCP server and show its tools; exit code 1 when it cannot be reached')
    .option(...json)
    .action(run(context, async () => (await import('../mcp-test.ts')).mcpTest))
  mcp
    .command('login <name>')
    .description('log in at an MCP server with a browser')
    .action(run(context, async () => (await import('../mcp-login.ts')).mcpLogin))
  mcp
    .command('serve')
    .summary('serve the conversations to an MCP client that starts this program')
    .description(
      'Speaks MCP over the standard input and output: a client such as Claude Desktop starts it, and reads and writes the conversations of the running gateway.',
    )
    .option('-v, --verbose', 'write what goes wrong to the error output', false)
    .action(run(context, async () => (await import('../mcp-serve.ts')).mcpServe))
}

function collect(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value]
}
