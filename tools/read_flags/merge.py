"""stub"""
def write(cache, ask): pass
