/**
 * How the connection to an MCP server is secured: `ssl_verify`, `client_cert` and `client_key`. Loaded with the first server on the
 * network.
 */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { McpServerConfig } from '../../agent/mcp/config.ts'
import { McpServerError } from '../../agent/mcp/mcp-server-error.ts'
import { systemCode } from '../../lib/errors.ts'
import type { NodeFetchOptions } from '../../lib/node-fetch.ts'

export interface TlsOptions {
  readonly server: string
  readonly settings: Pick<McpServerConfig, 'ssl_verify' | 'client_cert' | 'client_key'>
  /** Where relative paths begin. */
  readonly directory: string
  readonly userHome: string
}

/** Undefined for the usual checks. Throws `McpServerError` for a file that cannot be read. */
export function readTls({ server, settings, directory, userHome }: TlsOptions): NodeFetchOptions['tls'] {
  const { ssl_verify: verify, client_cert: given, client_key: keyFile } = settings
  if (verify === true && given === undefined) return undefined
  const read = (key: string, file: string): string => {
    const path = resolve(directory, file.replace(/^~(?=$|\/)/, userHome))
    try {
      return readFileSync(path, 'utf8')
    } catch (cause) {
      const text = `mcp_servers.${server}.${key}: the file ${path} cannot be read (${systemCode(cause) ?? 'unknown reason'}).`
      throw new McpServerError('unreachable', text, { cause })
    }
  }
  const [certFile, ownKeyFile = keyFile, passphrase] = typeof given === 'string' ? [given] : (given ?? [])
  return {
    ...(verify === false ? { rejectUnauthorized: false } : {}),
    ...(typeof verify === 'string' ? { ca: read('ssl_verify', verify) } : {}),
    ...(certFile === undefined
      ? {}
      : {
          cert: read('client_cert', certFile),
          key: ownKeyFile === undefined ? read('client_cert', certFile) : read('client_key', ownKeyFile),
          passphrase,
        }),
  }
}
