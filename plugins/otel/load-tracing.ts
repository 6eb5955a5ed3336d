/**
 * Loads OpenTelemetry's SDK, which is not a dependency of the gateway.
 */
import { messageOf } from '#sdk'

const installCommand =
  'npm install @opentelemetry/api@1.9.1 @opentelemetry/sdk-trace-node@2.12.0 @opentelemetry/exporter-trace-otlp-http@0.223.1'

/** Rejects with the install command if a package is missing, and otherwise with the error of the import. */
export async function loadTracing<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load()
  } catch (error) {
    if (!isMissingPackage(error)) throw error
    throw new Error(`a package of OpenTelemetry is missing; in the gateway's folder, run: ${installCommand}`, {
      cause: error,
    })
  }
}

function isMissingPackage(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'ERR_MODULE_NOT_FOUND' && messageOf(error).includes('@opentelemetry/')
}
