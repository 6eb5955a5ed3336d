/**
 * The configuration of MCP servers (contract agent.md S13). The keys are those of Hermes; `approval` and `sandbox` are added.
 */
import { z } from 'zod'
import type { ConfigOf } from '../../config/section.ts'

const text = z.union([z.string(), z.number(), z.boolean()]).transform(String)

const toolNames = z.array(z.string().min(1)).default([])

const connection = {
  command: z
    .string()
    .min(1)
    .optional()
    .describe('The program that is the server. It speaks over its input and output.'),
  args: z.array(text).default([]).describe('The arguments of `command`.'),
  env: z
    .record(z.string(), text)
    .default({})
    .describe('The variables of `command`, beside PATH, HOME and the like. It gets no other variable of the gateway.'),
  cwd: z.string().default('').describe('The directory in which `command` starts. The default is `terminal.cwd`.'),
  url: z
    .string()
    .regex(/^https?:\/\/[^\s]+$/i, 'must be an http or https address')
    .optional()
    .describe('The address of a server on the network, in place of `command`.'),
  headers: z.record(z.string(), text).default({}).describe('Headers of each request to `url`.'),
  ssl_verify: z
    .union([z.boolean(), z.string().min(1)])
    .default(true)
    .describe(
      'How the certificate of the server at `url` is checked: `true`, the path of a file with the authorities to trust (PEM), or `false` for not at all.',
    ),
  client_cert: z
    .union([z.string().min(1), z.array(z.string()).min(2).max(3)])
    .optional()
    .describe(
      'The certificate with which the gateway shows who it is: the path of a PEM file with certificate and key, or a list of both files and, if it has one, the passphrase of the key.',
    ),
  client_key: z.string().min(1).optional().describe('The file of the key, if `client_cert` has the certificate only.'),
  transport: z
    .enum(['http', 'sse'])
    .default('http')
    .describe('How the server at `url` speaks: `http` (Streamable HTTP), or `sse` for an older one.'),
  auth: z
    .enum(['oauth'])
    .optional()
    .describe('`oauth`: the server at `url` asks for a login; `hermes mcp login <name>` does it.'),
  oauth: z
    .object({
      client_id: z
        .string()
        .min(1)
        .optional()
        .describe('The client, where the server does not register clients itself.'),
      client_secret: z.string().min(1).optional().describe('Its secret, if it has one.'),
      scope: z.string().min(1).optional().describe('What is asked for. The default is what the server names.'),
      redirect_port: z
        .int()
        .min(0)
        .max(65_535)
        .default(0)
        .describe('The port of this machine to which the browser returns. 0: a free one.'),
    })
    .prefault({})
    .describe('Details of `auth: oauth`.'),
} as const

const server = z
  .object({
    ...connection,
    enabled: z.boolean().default(true).describe('False: the server is left alone, and its tools do not exist.'),
    timeout: z.number().positive().max(86_400).default(120).describe('Seconds that a call may take.'),
    connect_timeout: z
      .number()
      .positive()
      .max(3_600)
      .default(60)
      .describe('Seconds in which the server must have started and listed its tools.'),
    idle_timeout_seconds: z
      .number()
      .min(0)
      .default(600)
      .describe(
        'Seconds without a call after which the server is stopped. The next call starts it again. 0 for never.',
      ),
    max_lifetime_seconds: z
      .number()
      .min(0)
      .default(0)
      .describe('Seconds after which the server is started again, before the next call. 0 for never.'),
    supports_parallel_tool_calls: z
      .boolean()
      .default(false)
      .describe('Whether calls that need no approval may run at the same time.'),
    tools: z
      .object({
        include: toolNames.describe('Only these tools: their names at the server, or patterns with `*`.'),
        exclude: toolNames.describe('Without these tools. Has no effect beside `include`.'),
        resources: z
          .boolean()
          .default(true)
          .describe('Whether the model can list and read the resources of the server.'),
        prompts: z.boolean().default(true).describe('Whether the model can list and read the prompts of the server.'),
      })
      .prefault({}),
    sampling: z
      .object({
        enabled: z
          .boolean()
          .default(false)
          .describe('Whether the server may ask the model of `auxiliary.mcp` for texts. It costs tokens.'),
        max_tokens_cap: z.int().min(1).default(4_096).describe('Maximum length of such a text in tokens.'),
        max_rpm: z.int().min(1).default(10).describe('Maximum number of such texts a minute.'),
        model: z.string().default('').describe('The model, in place of that of `auxiliary.mcp`.'),
        allowed_models: z.array(z.string()).default([]).describe('Models that the server may choose by name.'),
        timeout: z.number().positive().optional().describe('Seconds for one text, at most `auxiliary.mcp.timeout`.'),
      })
      .prefault({}),
    elicitation: z
      .object({
        enabled: z
          .boolean()
          .default(true)
          .describe(
            'Whether the server may ask the person who waits for a call. Each of its questions names the server.',
          ),
      })
      .prefault({}),
    approval: z
      .enum(['auto', 'always', 'never'])
      .default('auto')
      .describe(
        'Which calls a user must allow: `auto`: those of tools that the server does not declare as read-only; `always`: all; `never`: none.',
      ),
    sandbox: z
      .union([z.enum(['auto', 'off']), z.boolean()])
      .default('auto')
      .transform((value) => value !== 'off' && value !== false)
      .describe(
        '`auto`: `command` runs in a sandbox as the commands of the agent do. `off`: with all rights of the gateway.',
      ),
  })
  .refine(({ command, url }) => (command === undefined) !== (url === undefined), 'expected either `command` or `url`')

const serverName = z
  .string()
  .regex(/^[a-z0-9][\w.-]{0,39}$/i, 'must be a name of at most 40 letters, digits and the characters . _ -')

export const mcpConfig = {
  mcp_servers: z
    .record(serverName, server)
    .default({})
    .describe('MCP servers by name: programs and services whose tools the model gets as `mcp_<name>_<tool>`.'),
} as const

export type McpConfig = ConfigOf<typeof mcpConfig>
export type McpServerConfig = McpConfig['mcp_servers'][string]

/** The servers that are not turned off. */
export function enabledServers({ mcp_servers }: McpConfig): readonly (readonly [string, McpServerConfig])[] {
  return Object.entries(mcp_servers).filter(([, { enabled }]) => enabled)
}
