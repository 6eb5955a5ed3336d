/**
 * Defines the commands for MCP servers.
 */
import { type Commands, json } from './options.ts'

export function addMcpCommands(root: Commands): void {
  const group = root.group('mcp', 'programs and services whose tools the agent uses')
  const mcp = group.from(() => import('../mcp.ts'))
  mcp.add('list', 'mcpList', 'list the MCP servers with their state and the number of their tools', json)
  mcp
    .add('add <name> [program...]', 'mcpAdd', 'add an MCP server to config.yaml')
    .description(
      'Adds an MCP server to config.yaml and shows its tools: a program (`hermes mcp add files -- npx -y some-server /data`), or an address (`--url`).',
    )
    .option('--url <address>', 'address of a server on the network')
    .option('--env <variable>', 'variable of the program, NAME=value, or NAME for one of .env; repeatable', collect, [])
    .option('--header <header>', 'header of each request, "Name: value"; repeatable', collect, [])
    .option('--oauth', 'the server asks for a login', false)
    .option('--no-test', 'do not connect')
  mcp.add('remove <name>', 'mcpRemove', 'remove an MCP server from config.yaml, with its login')
  group
    .from(() => import('../mcp-test.ts'))
    .add(
      'test <name>',
      'mcpTest',
      'connect with an MCP server and show its tools; exit code 1 when it cannot be reached',
      json,
    )
  group.add(() => import('../mcp-login.ts'), 'login <name>', 'mcpLogin', 'log in at an MCP server with a browser')
  group
    .from(() => import('../mcp-serve.ts'))
    .add('serve', 'mcpServe', 'serve the conversations to an MCP client that starts this program')
    .description(
      'Speaks MCP over the standard input and output: a client such as Claude Desktop starts it, and reads and writes the conversations of the running gateway.',
    )
    .option('-v, --verbose', 'write what goes wrong to the error output', false)
}

function collect(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value]
}
