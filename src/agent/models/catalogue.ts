/**
 * The providers that the gateway knows by name: data, not code (contract agent.md S7). A server that is not here is reached with
 * `provider: custom` or an entry of `providers`.
 */
import type { ApiMode } from './provider.ts'

export interface ProviderEntry {
  /** For people. */
  readonly label: string
  readonly apiMode: ApiMode
  /** Without a trailing slash; '' where it must be configured. */
  readonly baseUrl: string
  /** Environment variables that can hold the key; the first one that is set counts. */
  readonly keyVariables: readonly string[]
  /** The environment variable that can hold another address (Hermes). */
  readonly addressVariable?: string
  /** Keys that begin so belong to another address of the vendor. */
  readonly keyAddresses?: Readonly<Record<string, string>>
  /** A server on a machine of the user, which usually needs no key. */
  readonly isLocal?: true
  /** It has no key of its own, but that of another entry: it is another API of a vendor, or stands for any server. */
  readonly sharesKey?: true
  readonly quirks?: ProviderQuirks
}

/** Where a server that speaks a known API differs from its inventor. */
export interface ProviderQuirks {
  /** The field of Chat Completions for the longest response; `max_tokens` unless the vendor demands the new name. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens'
  /**
   * How the reasoning effort is sent: as a field, as OpenRouter's object, as a switch `thinking` (with the effort as a field beside it),
   * or not at all.
   */
  readonly reasoning?: 'effort' | 'object' | 'switch' | 'switch-effort' | 'none'
  /** Rejects a response in the conversation, also one of another model, that has no `reasoning_content`. */
  readonly requiresReasoning?: true
}

const openAiQuirks: ProviderQuirks = { maxTokensField: 'max_completion_tokens' }

/** In the order in which keys decide when no provider is configured. */
export const catalogue = {
  openai: {
    label: 'OpenAI',
    apiMode: 'chat_completions',
    baseUrl: 'https://api.openai.com/v1',
    keyVariables: ['OPENAI_API_KEY'],
    quirks: openAiQuirks,
  },
  'openai-responses': {
    label: 'OpenAI (Responses API)',
    apiMode: 'codex_responses',
    baseUrl: 'https://api.openai.com/v1',
    keyVariables: ['OPENAI_API_KEY'],
    sharesKey: true,
  },
  anthropic: {
    label: 'Anthropic',
    apiMode: 'anthropic_messages',
    baseUrl: 'https://api.anthropic.com',
    keyVariables: ['ANTHROPIC_API_KEY', 'ANTHROPIC_TOKEN'],
  },
  openrouter: {
    label: 'OpenRouter',
    apiMode: 'chat_completions',
    baseUrl: 'https://openrouter.ai/api/v1',
    keyVariables: ['OPENROUTER_API_KEY'],
    addressVariable: 'OPENROUTER_BASE_URL',
    quirks: { reasoning: 'object' },
  },
  nous: {
    label: 'Nous Research',
    apiMode: 'chat_completions',
    baseUrl: 'https://inference-api.nousresearch.com/v1',
    keyVariables: ['NOUS_API_KEY'],
    addressVariable: 'NOUS_INFERENCE_BASE_URL',
    quirks: { reasoning: 'object' },
  },
  deepseek: {
    label: 'DeepSeek',
    apiMode: 'chat_completions',
    baseUrl: 'https://api.deepseek.com/v1',
    keyVariables: ['DEEPSEEK_API_KEY'],
    addressVariable: 'DEEPSEEK_BASE_URL',
    quirks: { reasoning: 'switch-effort', requiresReasoning: true },
  },
  gemini: {
    label: 'Google Gemini',
    apiMode: 'chat_completions',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    keyVariables: ['GOOGLE_API_KEY', 'GEMINI_API_KEY'],
    addressVariable: 'GEMINI_BASE_URL',
  },
  xai: {
    label: 'xAI',
    apiMode: 'chat_completions',
    baseUrl: 'https://api.x.ai/v1',
    keyVariables: ['XAI_API_KEY'],
    addressVariable: 'XAI_BASE_URL',
  },
  zai: {
    label: 'Z.AI (GLM)',
    apiMode: 'chat_completions',
    baseUrl: 'https://api.z.ai/api/paas/v4',
    keyVariables: ['GLM_API_KEY', 'ZAI_API_KEY', 'Z_AI_API_KEY'],
    addressVariable: 'GLM_BASE_URL',
    quirks: { reasoning: 'switch' },
  },
  kimi: {
    label: 'Kimi (Moonshot)',
    apiMode: 'chat_completions',
    baseUrl: 'https://api.moonshot.ai/v1',
    keyVariables: ['KIMI_API_KEY', 'KIMI_CODING_API_KEY', 'MOONSHOT_API_KEY'],
    addressVariable: 'KIMI_BASE_URL',
    keyAddresses: { 'sk-kimi-': 'https://api.kimi.com/coding/v1' },
    quirks: { reasoning: 'none', requiresReasoning: true },
  },
  minimax: {
    label: 'MiniMax',
    apiMode: 'anthropic_messages',
    baseUrl: 'https://api.minimax.io/anthropic',
    keyVariables: ['MINIMAX_API_KEY'],
    addressVariable: 'MINIMAX_BASE_URL',
  },
  huggingface: {
    label: 'Hugging Face',
    apiMode: 'chat_completions',
    baseUrl: 'https://router.huggingface.co/v1',
    keyVariables: ['HF_TOKEN'],
    addressVariable: 'HF_BASE_URL',
  },
  'kimi-coding-cn': {
    label: 'Kimi (Moonshot, China)',
    apiMode: 'chat_completions',
    baseUrl: 'https://api.moonshot.cn/v1',
    keyVariables: ['KIMI_CN_API_KEY'],
    quirks: { reasoning: 'none' },
  },
  'minimax-cn': {
    label: 'MiniMax (China)',
    apiMode: 'anthropic_messages',
    baseUrl: 'https://api.minimaxi.com/anthropic',
    keyVariables: ['MINIMAX_CN_API_KEY'],
    addressVariable: 'MINIMAX_CN_BASE_URL',
  },
  alibaba: {
    label: 'Alibaba Cloud (Qwen)',
    apiMode: 'chat_completions',
    baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    keyVariables: ['DASHSCOPE_API_KEY'],
    addressVariable: 'DASHSCOPE_BASE_URL',
    quirks: { reasoning: 'none' },
  },
  nvidia: {
    label: 'NVIDIA',
    apiMode: 'chat_completions',
    baseUrl: 'https://integrate.api.nvidia.com/v1',
    keyVariables: ['NVIDIA_API_KEY'],
    addressVariable: 'NVIDIA_BASE_URL',
    quirks: { reasoning: 'none' },
  },
  'ollama-cloud': {
    label: 'Ollama Cloud',
    apiMode: 'chat_completions',
    baseUrl: 'https://ollama.com/v1',
    keyVariables: ['OLLAMA_API_KEY'],
    addressVariable: 'OLLAMA_BASE_URL',
  },
  'ai-gateway': {
    label: 'Vercel AI Gateway',
    apiMode: 'chat_completions',
    baseUrl: 'https://ai-gateway.vercel.sh/v1',
    keyVariables: ['AI_GATEWAY_API_KEY'],
    addressVariable: 'AI_GATEWAY_BASE_URL',
  },
  novita: {
    label: 'Novita',
    apiMode: 'chat_completions',
    baseUrl: 'https://api.novita.ai/openai/v1',
    keyVariables: ['NOVITA_API_KEY'],
    addressVariable: 'NOVITA_BASE_URL',
    quirks: { reasoning: 'none' },
  },
  lmstudio: {
    label: 'LM Studio',
    apiMode: 'chat_completions',
    baseUrl: 'http://127.0.0.1:1234/v1',
    keyVariables: ['LM_API_KEY'],
    addressVariable: 'LM_BASE_URL',
    isLocal: true,
  },
  ollama: {
    label: 'Ollama',
    apiMode: 'chat_completions',
    baseUrl: 'http://127.0.0.1:11434/v1',
    keyVariables: ['OLLAMA_API_KEY'],
    isLocal: true,
  },
  vllm: {
    label: 'vLLM',
    apiMode: 'chat_completions',
    baseUrl: 'http://127.0.0.1:8000/v1',
    keyVariables: ['VLLM_API_KEY'],
    isLocal: true,
  },
  custom: {
    label: 'another server',
    apiMode: 'chat_completions',
    baseUrl: '',
    keyVariables: ['OPENAI_API_KEY'],
    addressVariable: 'OPENAI_BASE_URL',
    isLocal: true,
    sharesKey: true,
  },
} as const satisfies Record<string, ProviderEntry>

/** The names of the entries that have keys of their own. */
export const providersWithKeys: readonly string[] = Object.entries<ProviderEntry>(catalogue).flatMap(
  ([name, { sharesKey }]) => (sharesKey === true ? [] : [name]),
)

/**
 * The names of models that read pictures, as far as they are known: the same model has the same name at all providers, behind
 * that of its maker. `supports_vision` of a server and `agent.image_input_mode` say it for any other.
 */
const seeingModels: readonly RegExp[] = [
  /\bgpt-(?:4o|4\.\d|4-turbo|4-vision|[5-9])(?!.*(?:audio|realtime|transcribe|tts|search))/,
  /\bchatgpt-4o|\bo[1-9](?:-pro)?(?:-\d{4}.*)?$|\bo4-mini/,
  /\bclaude-(?!1|2|instant)/,
  /\bgemini-(?!1\.0|embedding|.*(?:tts|live|audio))/,
  /\bgemma-?3n?(?!.*(?:[:-](?:270m|1b)))|\bgemma-?[4-9]/,
  /\bgrok-(?:[4-9]|.*vision)/,
  /\bglm-\d(?:\.\d)?v/,
  /\bkimi-(?:k2\.[5-9]|k[3-9]|latest|vl)/,
  /\bqwen.*(?:vl|omni|3\.[5-9])|\bqvq/,
  /\bllama-?4|\bllama-?3\.2.*(?:11b|90b)/,
  /\bpixtral|\bmi(?:ni)?stral-(?:small-?3|small-2[5-9]|medium|large-(?:3|2[5-9]))|\bministral-3/,
  /\bllava|\bbakllava|\bmoondream|\bminicpm-?v|\binternvl|\bmolmo|\bnova-(?:lite|pro|premier)|\bphi-?\d.*multimodal/,
  /vision|\bvl\b|[-_]vl[-_\d]/,
]

/** Whether a model of this name is known to read pictures. */
export function isSeeingModel(model: string): boolean {
  const name = model.toLowerCase()
  return seeingModels.some((pattern) => pattern.test(name))
}

export type CatalogueName = keyof typeof catalogue

/** The names of Hermes for the same providers. */
export const providerAliases: Readonly<Record<string, CatalogueName>> = {
  'openai-api': 'openai',
  'openai-codex': 'openai-responses',
  google: 'gemini',
  'google-ai-studio': 'gemini',
  'kimi-coding': 'kimi',
  moonshot: 'kimi',
  'kimi-for-coding': 'kimi',
  'kimi-cn': 'kimi-coding-cn',
  'minimax-china': 'minimax-cn',
  dashscope: 'alibaba',
  nim: 'nvidia',
  'hugging-face': 'huggingface',
  'deep-seek': 'deepseek',
  llamacpp: 'custom',
  'llama.cpp': 'custom',
  glm: 'zai',
  'z.ai': 'zai',
  grok: 'xai',
  'x-ai': 'xai',
  hf: 'huggingface',
  claude: 'anthropic',
  'lm-studio': 'lmstudio',
  local: 'custom',
}

export function findProvider(
  name: string,
): { readonly name: CatalogueName; readonly entry: ProviderEntry } | undefined {
  const known = name in catalogue ? name : providerAliases[name.toLowerCase()]
  return known !== undefined && isCatalogueName(known) ? { name: known, entry: catalogue[known] } : undefined
}

function isCatalogueName(name: string): name is CatalogueName {
  return Object.hasOwn(catalogue, name)
}
