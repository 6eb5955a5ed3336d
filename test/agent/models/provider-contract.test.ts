/** Runs the contract of a provider on each of the four providers. */
import { createAnthropicProvider } from '../../../src/agent/models/anthropic/anthropic-provider.ts'
import { createDemoProvider } from '../../../src/agent/models/demo/demo-provider.ts'
import {
  createOpenAiChatProvider,
  createOpenAiResponsesProvider,
} from '../../../src/agent/models/openai/openai-providers.ts'
import { createProviderOptions } from '../../../src/agent/models/provider-options.ts'
import { providerContract } from '../../kit/contracts/provider.ts'
import { CONTRACT_KEY, type ProviderLimits } from '../../kit/contracts/provider-run.ts'
import { startAnthropicServer } from '../../kit/servers/anthropic-server.ts'
import { startOpenAiServer } from '../../kit/servers/openai-server.ts'
import type { ModelServer } from '../../kit/servers/sse.ts'

const options = (server: ModelServer | null, limits?: ProviderLimits) =>
  createProviderOptions({ name: 'vendor', apiKey: CONTRACT_KEY, baseUrl: server?.baseUrl ?? '', ...limits })

providerContract('chat completions', {
  startServer: startOpenAiServer,
  build: (server, limits) => createOpenAiChatProvider(options(server, limits)),
  reasoningMark: '"reasoning_content":"first look"',
})

providerContract('responses', {
  startServer: startOpenAiServer,
  build: (server, limits) => createOpenAiResponsesProvider(options(server, limits)),
  reasoningMark: '"encrypted_content":"sealed-reasoning"',
})

providerContract('messages', {
  startServer: startAnthropicServer,
  build: (server, limits) => createAnthropicProvider(options(server, limits)),
  reasoningMark: '"signature":"signed-thinking"',
})

providerContract('demonstration', { startServer: async () => null, build: () => createDemoProvider() })
