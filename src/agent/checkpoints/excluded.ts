/**
 * What a checkpoint leaves out, beyond what the .gitignore files of the folder name: what programs generate, and secrets.
 */

/** The patterns of `info/exclude`. */
export const excludedPatterns = [
  ...['node_modules/', 'bower_components/', 'dist/', 'build/', 'target/', 'out/', '.next/', '.nuxt/', '.gradle/'],
  ...['__pycache__/', '*.pyc', '*.pyo', '.cache/', '.pytest_cache/', '.mypy_cache/', '.ruff_cache/', 'coverage/'],
  ...['.venv/', 'venv/', '.tox/', '.git/', '.hg/', '.svn/', '.worktrees/'],
  ...['*.so', '*.dylib', '*.dll', '*.o', '*.a', '*.class', '*.exe', '*.obj', '*.jar'],
  ...['*.mp4', '*.mov', '*.mkv', '*.webm', '*.zip', '*.tar', '*.tar.gz', '*.tgz', '*.7z', '*.rar', '*.iso'],
  ...['.DS_Store', 'Thumbs.db', '*.log'],
  // Secrets. Templates contain none.
  ...['.env', '.env.*', '!.env.example', '!.env.sample', '!.env.template', '!.env.dist', '.envrc'],
  ...[
    '*.pem',
    '*.key',
    '*.p12',
    '*.pfx',
    '*.jks',
    '*.keystore',
    '*.kdbx',
    'id_rsa',
    'id_dsa',
    'id_ecdsa',
    'id_ed25519',
  ],
  ...['.netrc', '.pgpass', '.npmrc', '.pypirc', '.git-credentials', '.ssh/', '.aws/', '.gnupg/', '.kube/', '.azure/'],
  ...['auth.json', 'gateway.token', 'credentials.json', '*.tfstate', '*.tfstate.*'],
]

/** Files stay byte by byte as they are, whatever .gitattributes says. */
export const attributes = '* -text -eol -ident -filter -working-tree-encoding -export-subst\n'
