/**
 * Defines the commands for MCP servers.
 */
import type { Command } from 'commander'
import type { CliContext } from '../kit/context.ts'
import { createGroup } from '../kit/help.ts'
import type { McpAddOptions } from '../mcp.ts'
import type { McpServeOptions } from '../mcp-serve.ts'
import { type JsonOption, json } from './options.ts'

export function addMcpCommands(root: Command, context: CliContext): void {
  const mcp = createGroup(root, 'mcp', 'programs and services whose tools the agent uses')
  mcp
    .command('list')
    .description('list the MCP servers with their state and the number of their tools')
    .option(...json)
    .action(async (options: JsonOption) => (await import('../mcp.ts')).mcpList(context, options))
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
    .action(async (name: string, program: readonly string[], options: McpAddOptions) =>
      (await import('../mcp.ts')).mcpAdd(context, name, program, options),
    )
  mcp
    .command('remove <name>')
    .description('remove an MCP server from config.yaml, with its login')
    .action(async (name: string) => (await import('../mcp.ts')).mcpRemove(context, name))
  mcp
    .command('test <name>')
    .description('connect with an MCP server and show its tools; exit code 1 when it cannot be reached')
    .option(...json)
    .action(async (name: string, options: JsonOption) =>
      (await import('../mcp-test.ts')).mcpTest(context, name, options),
    )
  mcp
    .command('login <name>')
    .description('log in at an MCP server with a browser')
    .action(async (name: string) => (await import('../mcp-login.ts')).mcpLogin(context, name))
  mcp
    .command('serve')
    .summary('serve the conversations to an MCP client that starts this program')
    .description(
      'Speaks MCP over the standard input and output: a client such as Claude Desktop starts it, and reads and writes the conversations of the running gateway.',
    )
    .option('-v, --verbose', 'write what goes wrong to the error output', false)
    .action(async (options: McpServeOptions) => (await import('../mcp-serve.ts')).mcpServe(context, options))
}

function collect(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value]
}
